// SPDX-License-Identifier: BSD-3-Clause
#include "flow/port_lists.hpp"

namespace longhaul::flow {

bool PortLists::add(std::uint32_t member, const Key& key) noexcept {
  const auto first = heads_.find(key);
  if (!heads_.put(key, member)) return false;
  links_[member] = {KeyIndex::kNone, first.value_or(KeyIndex::kNone)};
  if (first) links_[*first].before = member;
  return true;
}

void PortLists::remove(std::uint32_t member, const Key& key) noexcept {
  const Link link = links_[member];
  if (link.after != KeyIndex::kNone) links_[link.after].before = link.before;
  if (link.before != KeyIndex::kNone)
    links_[link.before].after = link.after;
  else if (link.after != KeyIndex::kNone)
    heads_.put(key, link.after);
  else
    heads_.erase(key);
}

}  // namespace longhaul::flow
