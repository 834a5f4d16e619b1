// SPDX-License-Identifier: BSD-3-Clause
#include "link/fates.hpp"

#include <rte_jhash.h>
#include <rte_mbuf.h>

#include "wire/frame.hpp"

namespace longhaul::link {
namespace {

std::uint64_t name_of_packet(const rte_mbuf* frame) {
  const std::span<const std::uint8_t> bytes(rte_pktmbuf_mtod(frame, const std::uint8_t*), rte_pktmbuf_data_len(frame));
  wire::Frame view;
  const wire::ParseStatus status = wire::parse(bytes, view);
  if (status == wire::ParseStatus::roce && view.destination_qpn() != wire::kGsiQpn) {
    const std::uint64_t answer = view.opcode->is_response() ? 1 : 0;
    return answer << 63 | std::uint64_t{view.destination_qpn()} << 24 | view.psn();
  }
  std::uint32_t high = 1, low = 2;
  rte_jhash_2hashes(bytes.data(), static_cast<std::uint32_t>(bytes.size()), &high, &low);
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

std::uint64_t PacketCopies::next(const rte_mbuf* frame) {
  const std::uint64_t packet = name_of_packet(frame);
  return RandomStream(packet, ++seen_[packet], 0).next();
}

Fates::Fates(const Settings& settings, Way way)
    : settings_(settings.directions[static_cast<std::size_t>(way)]),
      by_(settings.fates_by),
      seed_(settings.seed),
      way_(static_cast<std::uint64_t>(way)) {
  begin(seed_);
}

void Fates::begin(std::uint64_t seed) {
  streams_.clear();
  for (std::uint64_t kind = 0; kind < kKinds; ++kind) streams_.emplace_back(seed, way_, kind);
}

// Every stream draws once per frame, whatever becomes of the frame: turning one kind on does not shift another, and
// queue drops shift none.
Chances Fates::draw(const rte_mbuf* frame) {
  if (by_ == FatesBy::packet) begin(seed_ ^ copies_.next(frame));
  Chances chances;
  chances.lost = of(kLoss).chance(settings_.loss);
  chances.duplicate = of(kDuplicate).chance(settings_.duplicate);
  chances.corrupt = of(kCorrupt).chance(settings_.corrupt);
  chances.corrupt_bit = of(kCorruptBit).next();
  chances.late = of(kReorder).chance(settings_.reorder);
  chances.jitter = static_cast<Duration>(of(kJitter).fraction() * static_cast<double>(settings_.jitter));
  return chances;
}

}  // namespace longhaul::link
