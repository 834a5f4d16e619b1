// SPDX-License-Identifier: BSD-3-Clause
// Who exchanges RoCE in a capture, and who of them is near: what a user needs to know to write --near.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "replay/near_hosts.hpp"
#include "wire/frame.hpp"

namespace longhaul::replay {

/// Two hosts and the RoCE frames between them.
struct Conversation {
  struct Host {
    wire::IpAddress address;
    bool near = false;
    std::uint64_t frames = 0;    ///< RoCE frames that it sent
    std::uint64_t requests = 0;  ///< SENDs and WRITEs among them, packets of reliable connections
  };
  std::array<Host, 2> hosts;  ///< first the one that was seen to send first

  /// A box stands between the two.
  bool divided() const { return hosts[0].near != hosts[1].near; }
};

class Conversations {
 public:
  /// Counts a RoCE frame. `near` judges hosts that are new. A capture may have more conversations than memory has room
  /// for: those after the first 4096 are not listed.
  void note(const wire::Frame& frame, const NearHosts& near);

  /// In the order in which the capture shows them.
  const std::vector<Conversation>& all() const { return all_; }

 private:
  using Ends = std::pair<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>>;
  std::vector<Conversation> all_;
  std::map<Ends, std::size_t> index_;  ///< places in `all_`; the smaller address first
};

}  // namespace longhaul::replay
