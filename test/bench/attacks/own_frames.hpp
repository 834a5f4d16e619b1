// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "box/peer_desk.hpp"
#include "test/bench/attacks/table.hpp"

namespace longhaul::bench {

/// Attacks on a box that has these peers: none of them needs a key.
std::span<const Attack> attacks_on_own_address();
box::PeerSettings attacked_peers();

}  // namespace longhaul::bench
