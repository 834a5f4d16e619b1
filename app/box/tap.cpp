// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/tap.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/frame.hpp"

namespace longhaul::app {
namespace {

constexpr std::uint32_t kCmQpn = 1;

bool is_of(const flow::ConnectionInfo& info, const wire::Frame& frame) {
  if (!(frame.vlan == info.vlan)) return false;
  for (const Side to : kSides) {
    const flow::End& end = info.end(to);
    if (frame.destination == end.ip && frame.source == info.end(other(to)).ip)
      return frame.destination_qpn() == end.qpn || frame.destination_qpn() == kCmQpn;
  }
  return false;
}

}  // namespace

Tap::Tap(TapFilter filter, std::size_t packets, std::uint32_t snap, const drivers::Clock& clock)
    // One slot more, so that a frame that is taken back has not overwritten another.
    : filter_(std::move(filter)), clock_(clock), snap_(snap), ring_(packets + 1), bytes_(ring_.size() * snap) {}

bool Tap::wanted(std::span<const std::uint8_t> bytes) const {
  wire::Frame frame;
  if (!wire::is_roce(wire::parse(bytes, frame))) return false;
  if (filter_.connection) return is_of(*filter_.connection, frame);
  return filter_.host && (filter_.host->contains(frame.source) || filter_.host->contains(frame.destination));
}

std::size_t Tap::see(Side side, Way way, std::span<rte_mbuf* const> frames) {
  const Time now = clock_.now();
  std::size_t kept = 0;
  for (const rte_mbuf* frame : frames) {
    const std::span bytes{rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->data_len};
    if (frame->nb_segs != 1 || !wanted(bytes)) continue;
    const std::size_t slot = total_++ % ring_.size();
    const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), snap_));
    ring_[slot] = {now, side, way, static_cast<std::uint32_t>(bytes.size()), size};
    std::memcpy(&bytes_[slot * snap_], bytes.data(), size);
    ++kept;
  }
  return kept;
}

void Tap::take_back() { --total_; }

std::size_t Tap::count() const { return static_cast<std::size_t>(std::min<std::uint64_t>(total_, ring_.size() - 1)); }

std::size_t Tap::slot(std::size_t i) const { return static_cast<std::size_t>((total_ - count() + i) % ring_.size()); }

std::vector<Tap::Seen> Tap::seen() const {
  std::vector<Seen> out;
  for (std::size_t i = 0; i < count(); ++i) out.push_back(ring_[slot(i)]);
  return out;
}

std::span<const std::uint8_t> Tap::bytes(std::size_t i) const {
  return {&bytes_[slot(i) * snap_], ring_[slot(i)].kept};
}

}  // namespace longhaul::app
