// SPDX-License-Identifier: BSD-3-Clause
// Two boxes on one segment, in virtual time, and all that happens between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "peer/peers.hpp"

namespace longhaul::test {

using Frame = std::vector<std::uint8_t>;

inline peer::PreSharedKey key_number(std::uint8_t number) {
  peer::Key key;
  key.fill(number);
  return peer::PreSharedKey(key);
}

/// The address on a network as they mostly are.
inline wire::Prefix network_of(const std::string& address) {
  return wire::Prefix::parse(address + (wire::IpAddress::parse(address).is_ipv4() ? "/24" : "/64"));
}

/// Ethernet, IPv4 and UDP.
inline constexpr std::size_t kHeaders = 14 + 20 + 8;
/// It has them, and is neither ARP nor ICMP.
inline bool is_datagram(const Frame& frame) {
  constexpr std::size_t kProtocol = 14 + 9;
  return frame.size() >= kHeaders && frame[12] == 8 && frame[13] == 0 && frame[kProtocol] == wire::kIpProtocolUdp;
}

/// The same numbers in each run.
inline peer::Random random_from(std::uint64_t seed) {
  return [engine = std::make_shared<std::mt19937_64>(seed)](std::span<std::uint8_t> bytes) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((*engine)());
  };
}

class TwoBoxes;

/// One of them: a process that may end and begin again.
class End final : public peer::Outlet {
 public:
  End(TwoBoxes& boxes, unsigned number, const std::string& address, const std::string& other)
      : boxes_(boxes), number_(number) {
    mac_ = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(number + 1)};
    settings.station.network = network_of(address);
    settings.peers.push_back({"other", wire::IpAddress::parse(other), {key_number(1)}});
  }
  bool transmit(peer::Bytes frame) override;
  void carried(std::uint32_t peer, const peer::Carried& message) override {
    heard.push_back({message.from, message.to, message.type, {message.body.begin(), message.body.end()}});
  }
  void begin(Time now) {
    peers = std::make_unique<peer::Peers>(settings, workers, features, mac_, *this,
                                          random_from(++lives_ * 1000 + number_), now);
  }
  peer::PeerReport report() const;
  bool up() const { return report().state == peer::State::up; }
  std::uint64_t dropped(peer::Drop why) const { return report().dropped[static_cast<std::size_t>(why)]; }
  void set_keys(std::vector<peer::PreSharedKey> keys);

  peer::Settings settings;
  std::uint16_t workers = 1;
  std::uint32_t features = 0;
  struct Heard {
    unsigned from;
    unsigned to;
    unsigned type;
    Frame body;
  };
  std::vector<Heard> heard;            ///< messages of carried types
  std::unique_ptr<peer::Peers> peers;  ///< null while it does not run

 private:
  TwoBoxes& boxes_;
  unsigned number_;
  wire::MacAddress mac_;
  unsigned lives_ = 0;
};

class TwoBoxes {
 public:
  explicit TwoBoxes(const std::string& a_address = "192.0.2.1", const std::string& b_address = "192.0.2.2")
      : a(*this, 0, a_address, b_address), b(*this, 1, b_address, a_address) {}

  void begin() {
    a.begin(now);
    b.begin(now);
  }
  /// What reaches the other end, as often as given, and after how long.
  std::function<std::vector<Duration>(unsigned from, const Frame& frame)> link = [this](unsigned, const Frame&) {
    return std::vector<Duration>{delay};
  };
  void sent(unsigned from, const Frame& frame) {
    log.push_back({from, frame});
    for (const Duration after : link(from, frame)) under_way_.emplace(now + after, Sent{from, frame});
  }
  void deliver(unsigned to, const Frame& frame) {
    End& end = to == 0 ? a : b;
    if (end.peers && end.peers->is_for_us(frame)) end.peers->take(frame, clock_of(end));
  }
  /// Until `each`, called after every event, returns true. Returns whether it did.
  bool run(
      Duration lasts, const std::function<bool()>& each = [] { return false; }) {
    const Time end = now + lasts;
    while (!each()) {
      Time next = end;
      if (!under_way_.empty()) next = std::min(next, under_way_.begin()->first);
      for (const End* box : {&a, &b})
        if (box->peers) next = std::min(next, time_of(*box, box->peers->deadline()));
      if (next >= end) {
        now = end;
        return each();
      }
      now = std::max(now, next);
      ++events;
      while (!under_way_.empty() && under_way_.begin()->first <= now) {
        const Sent arrives = under_way_.begin()->second;
        under_way_.erase(under_way_.begin());
        deliver(1 - arrives.from, arrives.frame);
      }
      for (End* box : {&a, &b})
        if (box->peers && box->peers->deadline() <= clock_of(*box)) box->peers->poll(clock_of(*box));
    }
    return true;
  }
  /// What the clock of a box says now, and when it will say that.
  Time clock_of(const End& box) const { return &box == &a ? now : now + skewed(now); }
  Time time_of(const End& box, Time clock) const {
    if (&box == &a || skew_of_b == 0 || clock == kNever) return clock;
    // A little too early at times: then it is asked again.
    return std::max(now + 1, clock - skewed(clock));
  }
  bool both_up() const { return a.peers && b.peers && a.up() && b.up(); }

  struct Sent {
    unsigned from;
    Frame frame;
  };
  Time now = kBegin;
  Duration delay = milliseconds(5);
  unsigned skew_of_b = 0;  ///< its clock is faster by so many millionths, from here on
  std::vector<Sent> log;   ///< all that was ever sent
  std::uint64_t events = 0;
  End a;
  End b;

 private:
  Duration skewed(Time time) const { return (time - kBegin) * skew_of_b / 1'000'000; }
  static constexpr Time kBegin = seconds(1000);

  std::multimap<Time, Sent> under_way_;
};

inline bool End::transmit(peer::Bytes frame) {
  boxes_.sent(number_, Frame(frame.begin(), frame.end()));
  return true;
}
inline peer::PeerReport End::report() const { return peers->report(boxes_.clock_of(*this)).peers.front(); }
inline void End::set_keys(std::vector<peer::PreSharedKey> keys) {
  settings.peers.front().keys = std::move(keys);
  peers->set_peers(settings.peers, boxes_.clock_of(*this));
}

}  // namespace longhaul::test
