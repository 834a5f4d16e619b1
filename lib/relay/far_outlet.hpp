// SPDX-License-Identifier: BSD-3-Clause
// What the far part needs of its box.
#pragma once

#include <rte_mbuf.h>

#include "relay/messages.hpp"

namespace longhaul::relay {

class FarOutlet {
 public:
  virtual ~FarOutlet() = default;
  /// The host's port takes another frame now.
  virtual bool host_takes() = 0;
  /// Hands on a request that was held (one reference).
  virtual void hand_on(rte_mbuf* mbuf) = 0;
  /// Sends a copy of a request to the host once more (one reference).
  virtual void send_to_host(rte_mbuf* mbuf) = 0;
  /// A request is held or copied, and is one of custody's from here on; or it is no more. False: there is no room.
  virtual bool hold(const rte_mbuf* mbuf) = 0;
  virtual void let_go(const rte_mbuf* mbuf) = 0;
  /// To the near box.
  virtual void send(Speaker to, Type type, Bytes body) = 0;
};

}  // namespace longhaul::relay
