// SPDX-License-Identifier: BSD-3-Clause
// Where packets that are sent again go (next_hop.hpp): what frames show, and what custody asks.
#include <cstddef>
#include <cstring>

#include "engine/engine_impl.hpp"
#include "flow/header_checksums.hpp"
#include "wire/icrc.hpp"

namespace longhaul::engine {

namespace {

const wire::EthernetAddresses& addresses_of(const wire::Frame& frame) {
  return *reinterpret_cast<const wire::EthernetAddresses*>(frame.data);
}

// Counts nothing: the frame is counted on its way through the engine.
bool is_sound(const wire::Frame& frame) { return wire::verify_icrc(frame) && flow::header_checksums_good(frame); }

// Nearly all that is not RoCE is IPv4, and not worth a call. parse() has found an Ethernet header.
bool is_ipv4(const wire::Frame& frame) {
  constexpr std::uint16_t kInMemory = wire::kEtherTypeIpv4 >> 8 | (wire::kEtherTypeIpv4 & 0xff) << 8;
  std::uint16_t ether_type = 0;
  std::memcpy(&ether_type, frame.data + offsetof(wire::EthernetHeader, ether_type), sizeof(ether_type));
  return ether_type == kInMemory;
}

}  // namespace

// A frame of a known connection shows other addresses than the one before, or something has been heard since.
void Engine::Impl::note_next_hop(Connection& connection, const wire::Frame& frame) {
  if (!is_sound(frame)) return;
  connection.shown = shown_by(frame.data);
  connection.shown_at = now;
  if (connection.pair != NextHops::kNone) note_next_hop(connection.pair, frame);
}

void Engine::Impl::note_next_hop(NextHops::PairIndex pair, const wire::Frame& frame) {
  const wire::EthernetAddresses& addresses = addresses_of(frame);
  if (!next_hops.shown(pair, addresses, now) || shared == nullptr) return;
  NextHopNews::Item item;
  item.at = now;
  item.from = this;
  item.neighbour.vlan = frame.vlan;
  item.host = frame.source;
  item.far = frame.destination;
  item.addresses = addresses;
  shared->next_hops.post(item);
}

// A frame from the host side that belongs to no known connection, of any service.
void Engine::Impl::note_next_hop(const wire::Frame& frame) {
  if (!next_hops.any()) return;
  const NextHops::PairIndex pair = next_hops.find(frame.source, frame.destination, frame.vlan);
  if (pair == NextHops::kNone) return;
  if (next_hops.shows_nothing_new(pair, addresses_of(frame)) || is_sound(frame)) note_next_hop(pair, frame);
}

// Reads the frames of a burst from the WAN side that are not RoCE.
void Engine::Impl::hear_neighbours(std::size_t count) {
  constexpr std::uint32_t kLookedAt =
      1u << static_cast<unsigned>(wire::ParseStatus::not_ip) | 1u << static_cast<unsigned>(wire::ParseStatus::not_udp);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < count; ++i) {
    const Arrival& arrival = arrivals[i];
    if ((kLookedAt >> static_cast<unsigned>(arrival.status) & 1) == 0) continue;
    if (is_ipv4(arrival.frame)) [[likely]]
      continue;
    const auto said = wire::parse_neighbour({arrival.frame.data, arrival.frame.size});
    if (!said) continue;
    const NextHops::Heard heard = next_hops.hear(*said, now);
    if (heard == NextHops::Heard::moved) ++counters[Counter::next_hops_moved];
    if (shared != nullptr) tell_of(*said);
  }
}

// Also tells what is nothing new here: it may be new to others.
void Engine::Impl::tell_of(const wire::Neighbour& said) {
  NextHopNews::Item item;
  item.at = now;
  item.from = this;
  item.heard = true;
  item.neighbour = said;
  shared->next_hops.post(item);
}

void Engine::Impl::read_news() {
  shared->next_hops.read_from(news_read, [this](const NextHopNews::Item& item) {
    if (item.from == this) return;
    if (item.heard) {
      next_hops.hear(item.neighbour, item.at);
      return;
    }
    const NextHops::PairIndex pair = next_hops.find(item.host, item.far, item.neighbour.vlan);
    if (pair != NextHops::kNone) next_hops.shown(pair, item.addresses, item.at);
  });
}

void Engine::Impl::newest_addresses(const custody::NearFlow& flow, wire::EthernetAddresses& addresses) {
  const Connection& connection = connections[flow.connection];
  if (connection.shown_at == 0) return;
  wire::MacAddress own;
  std::memcpy(own.data(), &connection.shown, own.size());
  next_hops.newest(connection.pair, own, connection.shown_at, addresses);
}

}  // namespace longhaul::engine
