// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "relay/messages.hpp"

namespace longhaul::engine {

/// The way to the engines of peers: authenticated datagrams (docs/peer-protocol.md).
class PeerLink {
 public:
  virtual ~PeerLink() = default;
  /// To a worker of a peer that is there, or to all of them. It may be lost.
  virtual void send(Speaker to, relay::Type type, relay::Bytes body) = 0;
};

}  // namespace longhaul::engine
