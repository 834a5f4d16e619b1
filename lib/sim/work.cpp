// SPDX-License-Identifier: BSD-3-Clause
#include "sim/work.hpp"

#include <algorithm>
#include <array>

#include "sim/random.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

namespace {

constexpr std::size_t kKinds = 9;

// Rows: Mix; columns: Kind.
constexpr std::array<std::array<std::uint8_t, kKinds>, 9> kWeights = {{
    {0, 0, 0, 9, 1, 0, 0, 0, 0},
    {7, 2, 1, 0, 0, 0, 0, 0, 0},
    {4, 1, 1, 6, 1, 2, 1, 0, 0},
    {1, 0, 0, 3, 0, 8, 0, 0, 0},
    {1, 0, 0, 3, 0, 1, 4, 3, 0},
    {3, 1, 1, 4, 1, 2, 1, 1, 1},
    {0, 0, 0, 1, 0, 0, 0, 0, 0},
    {1, 0, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 1, 0, 0, 0},
}};

Kind draw_kind(Mix mix, Random& random) {
  const auto& weights = kWeights[static_cast<std::size_t>(mix)];
  unsigned sum = 0;
  for (const unsigned weight : weights) sum += weight;
  std::uint64_t drawn = random.below(sum);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (drawn < weights[kind]) return static_cast<Kind>(kind);
    drawn -= weights[kind];
  }
  return Kind::write;
}

std::uint32_t draw_size(const WorkPlan& plan, Random& random) {
  if (plan.uniform) return plan.max_bytes;
  const std::uint32_t most = std::max<std::uint32_t>(plan.max_bytes, 1);
  switch (random.below(8)) {
    case 0:
      return 0;
    case 1:
      return std::min(most, plan.path_mtu);
    case 2:
      return std::min(most, plan.path_mtu + 1);
    case 3:
    case 4:
      return static_cast<std::uint32_t>(1 + random.below(std::min<std::uint32_t>(most, 64)));
    default:
      return static_cast<std::uint32_t>(1 + random.below(most));
  }
}

std::uint64_t word(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + index * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void fill(std::uint64_t key, std::uint64_t offset, std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t at = offset + i;
    std::uint64_t value = word(key, at / 8);
    if (at % 8 == 0 && i + 8 <= out.size()) {
      for (std::size_t n = 0; n < 8; ++n, value >>= 8) out[i + n] = static_cast<std::uint8_t>(value);
      i += 7;
    } else {
      out[i] = static_cast<std::uint8_t>(value >> (8 * (at % 8)));
    }
  }
}

}  // namespace

Work::Work(const WorkPlan& plan) : plan_(plan) {
  Random of_first(plan.first_key != 0 ? plan.first_key : plan.key, 0, 1);
  Random of_others(plan.key, 0, 2);
  std::array<std::uint64_t, kAtomicWords> words{};
  std::uint32_t position = 0;
  constexpr std::uint32_t kWarmUpBytes = 64;
  for (std::uint32_t number = 0; number < plan.warm_up + plan.messages; ++number) {
    const bool warm_up = number < plan.warm_up;
    Random& random = number == 0 || plan.first_key == 0 ? of_first : of_others;
    Message m;
    m.kind = warm_up ? Kind::send : draw_kind(plan.mix, random);
    m.number = number;
    m.begin = position;
    m.data = static_cast<std::uint32_t>(random.next());
    if (m.atomic()) {
      const std::uint64_t index = random.below(kAtomicWords);
      m.address = kAtomicRegion + 8 * index;
      m.operand = random.next();
      m.original = words[index];
      m.compare = random.chance(1, 2) ? words[index] : random.next();
      if (m.kind == Kind::fetch_add)
        words[index] += m.operand;
      else if (m.compare == words[index])
        words[index] = m.operand;
    } else if (m.kind == Kind::unknown) {
      m.bytes = 8;
    } else {
      m.bytes = warm_up ? kWarmUpBytes : draw_size(plan, random);
      const bool read = m.kind == Kind::read;
      const std::uint32_t region = read ? std::max(kReadBytes, plan.max_bytes) : write_bytes();
      m.address = (read ? kReadRegion : kWriteRegion) + random.below(region - std::min(m.bytes, write_bytes()) + 1);
    }
    const std::uint32_t packets = m.atomic() || m.bytes == 0 ? 1 : (m.bytes + plan.path_mtu - 1) / plan.path_mtu;
    position += packets;
    m.end = position;
    messages_.push_back(m);
  }
}

std::uint32_t Work::psn_at(std::uint32_t position) const { return wire::psn_add(plan_.starting_psn, position); }

std::int32_t Work::position_of(std::uint32_t psn) const { return wire::psn_diff(psn, plan_.starting_psn); }

const Message& Work::at(std::uint32_t position) const {
  const auto found = std::upper_bound(messages_.begin(), messages_.end(), position,
                                      [](std::uint32_t value, const Message& m) { return value < m.end; });
  return *found;
}

std::uint32_t Work::completed_before(std::uint32_t position) const {
  const auto found = std::upper_bound(messages_.begin(), messages_.end(), position,
                                      [](std::uint32_t value, const Message& m) { return value < m.end; });
  return static_cast<std::uint32_t>(found - messages_.begin());
}

std::uint32_t Work::receives_before(std::uint32_t position) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      messages_, [position](const Message& m) { return m.needs_receive() && m.end <= position; }));
}

void Work::contents(const Message& message, std::uint32_t offset, std::span<std::uint8_t> out) const {
  const std::uint64_t key = message.number == 0 && plan_.first_key != 0 ? plan_.first_key : plan_.key;
  fill(key ^ (std::uint64_t{message.number + 1} << 32), offset, out);
}

void read_region(std::uint64_t key, std::uint64_t address, std::span<std::uint8_t> out) {
  fill(~key, address - kReadRegion, out);
}

}  // namespace longhaul::sim
