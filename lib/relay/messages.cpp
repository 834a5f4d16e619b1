// SPDX-License-Identifier: BSD-3-Clause
#include "relay/messages.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "wire/psn.hpp"

namespace longhaul::relay {
namespace {

// LEB128 (DWARF 5, 7.6).
void append_number(std::vector<std::uint8_t>& to, std::uint32_t number) {
  constexpr std::uint32_t kSeven = 0x7f;
  constexpr std::uint8_t kMore = 0x80;
  for (; number > kSeven; number >>= 7) to.push_back(static_cast<std::uint8_t>(number & kSeven) | kMore);
  to.push_back(static_cast<std::uint8_t>(number));
}

// No PSN has more than 24 bits.
std::optional<std::uint32_t> take_number(Bytes& from) {
  std::uint32_t number = 0;
  for (unsigned shift = 0; shift < 28 && !from.empty(); shift += 7) {
    const std::uint8_t byte = from.front();
    from = from.subspan(1);
    number |= std::uint32_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return number <= wire::kPsnMask ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

BindEntry BindEntry::of(const Name& name, const flow::KeyIndex::Key& key, std::uint32_t requester_qpn,
                        std::uint32_t psn, std::uint32_t path_mtu) {
  BindEntry entry{};
  entry.name = name;
  entry.outer_vid = key.vlan.outer();
  entry.inner_vid = key.vlan.inner();
  entry.requester = key.first.bytes;
  entry.responder = key.second.bytes;
  entry.qpn = key.qpn;
  entry.psn = psn;
  entry.path_mtu = path_mtu;
  entry.requester_qpn = requester_qpn;
  return entry;
}

flow::KeyIndex::Key BindEntry::key() const {
  flow::KeyIndex::Key key;
  key.first.bytes = requester;
  key.second.bytes = responder;
  key.vlan.add(outer_vid);
  key.vlan.add(inner_vid);
  key.qpn = qpn;
  return key;
}

flow::KeyIndex::Key BindEntry::answers_key() const {
  flow::KeyIndex::Key answers = key();
  std::swap(answers.first, answers.second);
  answers.qpn = requester_qpn;
  return answers;
}

void StateWriter::open(const Name& name, std::uint8_t flags, std::uint32_t psn) {
  entry_ = bytes().size();
  to_.body_.add(StateEntry{name, flags, 0, psn});
  at_ = psn;
}

void StateWriter::append(const Missing& range) {
  append_number(bytes(), (range.psn - at_) & wire::kPsnMask);
  append_number(bytes(), range.count);
  ++entry().ranges;
  at_ = wire::psn_add(range.psn, range.count);
}

bool StateReader::next(StateEntry& entry, std::vector<Missing>& ranges) {
  ranges.clear();
  if (rest_.size() < sizeof(StateEntry)) return false;
  std::memcpy(&entry, rest_.data(), sizeof(entry));
  rest_ = rest_.subspan(sizeof(StateEntry));
  std::uint32_t at = entry.psn & wire::kPsnMask;
  for (unsigned i = 0; i < entry.ranges; ++i) {
    const auto gap = take_number(rest_);
    const auto count = gap ? take_number(rest_) : std::nullopt;
    if (!count) {
      rest_ = {};
      return false;
    }
    const std::uint32_t psn = wire::psn_add(at, *gap);
    ranges.push_back({psn, *count});
    at = wire::psn_add(psn, *count);
  }
  return true;
}

}  // namespace longhaul::relay
