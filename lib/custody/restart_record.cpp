// SPDX-License-Identifier: BSD-3-Clause
#include "custody/restart_record.hpp"

#include <isa-l/crc.h>

#include "wire/headers.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

namespace {

std::uint32_t check_of(const RecordedConnection& connection) {
  const std::uint32_t crc = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(&connection), sizeof(connection));
  return crc == 0 ? 1 : crc;
}

}  // namespace

RecordedConnection RecordedConnection::of(const flow::ConnectionInfo& info,
                                          const std::optional<flow::CmExchange>& exchange) {
  RecordedConnection out;
  for (const Side side : kSides) {
    out.ips[side] = info.ends[side].ip.bytes;
    out.qpns[side] = info.ends[side].qpn;
    out.starting_psns[side] = info.ends[side].starting_psn;
  }
  out.vlan = info.vlan.value;
  out.path_mtu = info.path_mtu;
  out.ack_timeout = info.ack_timeout;
  out.retry_count = info.retry_count;
  if (exchange) {
    out.has_exchange = 1;
    out.active_side = static_cast<std::uint8_t>(exchange->active_side);
    out.active_comm_id = exchange->active_comm_id;
    out.passive_comm_id = exchange->passive_comm_id;
  }
  return out;
}

flow::ConnectionInfo RecordedConnection::info() const {
  flow::ConnectionInfo out;
  for (const Side side : kSides) {
    out.ends[side].ip.bytes = ips[side];
    out.ends[side].qpn = qpns[side];
    out.ends[side].starting_psn = starting_psns[side];
  }
  out.vlan.value = vlan;
  out.path_mtu = path_mtu;
  out.ack_timeout = ack_timeout;
  out.retry_count = retry_count;
  return out;
}

std::optional<flow::CmExchange> RecordedConnection::exchange() const {
  if (has_exchange == 0) return std::nullopt;
  return flow::CmExchange{active_side == 0 ? Side::host : Side::wan, active_comm_id, passive_comm_id};
}

void RecordSlot::open(const RecordedConnection& connection) noexcept {
  check_.store(0, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // nothing of the new connection under the old check value
  connection_ = connection;
  for (Cell& cell : cells_) {
    cell.frontier.store(0, std::memory_order_relaxed);
    cell.acknowledged_bytes.store(0, std::memory_order_relaxed);
  }
  answered_bytes_.store(0, std::memory_order_relaxed);
  check_.store(check_of(connection_), std::memory_order_release);
}

RecordSlot::Promise RecordSlot::promised() const noexcept {
  const Cell& cell = cells_[promises_.load(std::memory_order_acquire) & 1];
  const std::uint64_t frontier = cell.frontier.load(std::memory_order_relaxed);
  return {static_cast<std::uint32_t>(frontier), static_cast<std::uint32_t>(frontier >> 32),
          cell.acknowledged_bytes.load(std::memory_order_relaxed)};
}

std::uint64_t RecordSlot::owed_bytes() const noexcept {
  const std::uint64_t acknowledged = promised().acknowledged_bytes;
  const std::uint64_t answered = answered_bytes_.load(std::memory_order_relaxed);
  // Data that was never promised may be answered too.
  return acknowledged > answered ? acknowledged - answered : 0;
}

RecordSlot::State RecordSlot::state() const noexcept {
  const std::uint32_t check = check_.load(std::memory_order_acquire);
  if (check == 0) return State::empty;
  if (check != check_of(connection_)) return State::damaged;
  const Promise promise = promised();
  if (promise.h > wire::kPsnMask || promise.msn_h > wire::kPsnMask) return State::damaged;
  return owed_bytes() > 0 ? State::owing : State::settled;
}

}  // namespace longhaul::custody
