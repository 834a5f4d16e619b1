// SPDX-License-Identifier: BSD-3-Clause
// Log lines about the boxes at the other ends: a line for each peer in which something has changed since the last look.
#pragma once

#include <map>
#include <string>

#include "peer/report.hpp"

namespace longhaul::app {

class PeerLog {
 public:
  /// `box`: its name, which begins each line. Changes between two looks are told by their number.
  void look(const std::string& box, const peer::PeersReport& its);

 private:
  std::map<std::string, peer::PeerReport> known_;  ///< by name, as of the last look
  std::uint64_t conflicts_ = 0;
};

}  // namespace longhaul::app
