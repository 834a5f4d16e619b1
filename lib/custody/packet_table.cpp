// SPDX-License-Identifier: BSD-3-Clause
#include "custody/packet_table.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace longhaul::custody {

PacketTable::PacketTable(std::uint64_t packets) : entries_(slots_for(packets)) {
  if (getentropy(secret_, sizeof(secret_)) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot get random numbers for a hash");
  secret_[1] |= 1;
}

// The multiplications spread each bit of the key over all, in a way that the secret decides.
std::uint64_t PacketTable::home_of(std::uint64_t key) const noexcept {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = Wide{key + secret_[0]} * secret_[1];
  const std::uint64_t hash = static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  return static_cast<std::uint64_t>(Wide{hash * secret_[1]} * entries_.size() >> 64);
}

std::uint64_t PacketTable::slot_of(std::uint64_t key) const noexcept {
  std::uint64_t slot = home_of(key);
  while (entries_[slot].packet != nullptr && entries_[slot].key != key) slot = after(slot);
  return slot;
}

// Moves later entries up into the slot, so that no search ends before it should.
void PacketTable::remove(std::uint32_t flow, std::uint32_t number) noexcept {
  std::uint64_t gap = slot_of(key_of(flow, number));
  for (std::uint64_t slot = after(gap); entries_[slot].packet != nullptr; slot = after(slot)) {
    const std::uint64_t home = home_of(entries_[slot].key);
    const bool stays = gap < slot ? gap < home && home <= slot : gap < home || home <= slot;
    if (stays) continue;
    entries_[gap] = entries_[slot];
    gap = slot;
  }
  entries_[gap].packet = nullptr;
}

}  // namespace longhaul::custody
