// SPDX-License-Identifier: BSD-3-Clause
// The peers of a box: boxes at the other ends of its long hauls (docs/peer-protocol.md).
#pragma once

#include <string>
#include <vector>

#include "config/document.hpp"
#include "peer/peers.hpp"

namespace longhaul::config {

inline constexpr std::size_t kMostPeers = 64;

struct PeersConfig {
  peer::Settings settings;             ///< with the keys as they are in the files
  std::vector<std::string> key_files;  ///< one for each of settings.peers
};

/// Reads `peers`, and the files of keys that it names. Throws ConfigError.
PeersConfig read_peers(const Value& value);

}  // namespace longhaul::config
