// SPDX-License-Identifier: BSD-3-Clause
// A scripted world around one engine. Frames are put in on either side, time is a number, and what leaves each side is
// read back as lines. After every step the sum of the counters is checked, and at the end that no buffer was lost.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/side.hpp"
#include "engine/engine.hpp"
#include "hosts.hpp"
#include "seen.hpp"

namespace longhaul::test {

/// The box's defaults with small tables. Custody leaves as fast as it comes, a gap is a loss at once, nothing is
/// acknowledged unasked, and no CNPs are made.
engine::Settings small_settings();
/// small_settings() with a WAN of 1 Mbit/s, on which a request with kLarge takes 32 ms, and no repeats for 10 s.
engine::Settings slow_settings();
inline constexpr Pair::Extra kLarge{true, 4000};
/// small_settings(), and a flow may have four WRITEs unanswered before its delivery rate is known.
engine::Settings four_unanswered();

class Rig : public engine::Sink {
 public:
  explicit Rig(const engine::Settings& settings = small_settings(), custody::Observer* observer = nullptr);
  ~Rig() override;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // Each call is one burst.
  void host_sends(const std::vector<Bytes>& burst) { receive(Side::host, burst); }
  void wan_sends(const std::vector<Bytes>& burst) { receive(Side::wan, burst); }
  void host_sends(const Bytes& frame) { receive(Side::host, {frame}); }
  void wan_sends(const Bytes& frame) { receive(Side::wan, {frame}); }
  void active_sends(const Pair& pair, const Bytes& frame) { receive(pair.active, {frame}); }
  void passive_sends(const Pair& pair, const Bytes& frame) { receive(other(pair.active), {frame}); }

  /// Sends REQ, REP and RTU, and forgets what they cause.
  void connect(const Pair& pair);
  /// connect(), and one write that the responder answers: PSN a_psn is used up, MSN is 1.
  void connect_confirmed(const Pair& pair);

  /// Lets time pass, and polls when the engine asked for it.
  void wait(Duration duration);

  // What left a side since the last call.
  Lines at_host() { return lines(host_out); }
  Lines at_wan() { return lines(wan_out); }
  std::vector<Seen> host_out;
  std::vector<Seen> wan_out;
  /// Called when a port accepts a frame, to check what holds at this instant.
  std::function<void(Side, const Seen&)> on_accepted;

  /// How many more frames a port accepts; then it is full.
  void allow(Side side, std::size_t frames) { room_[side] = frames; }
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  std::uint64_t count(Counter counter) const { return engine->counters()[counter]; }
  /// Small buffers that custody has taken, of all sizes.
  static unsigned small_buffers_in_use();

  Time now = seconds(1000);
  std::unique_ptr<engine::Engine> engine;

 private:
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;
  void receive(Side side, const std::vector<Bytes>& burst);
  void check_sum();
  static Lines lines(std::vector<Seen>& seen);

  /// A NIC reads a frame some time after it accepted it. Until then the frame's bytes must not change.
  struct InFlight {
    rte_mbuf* mbuf;
    Bytes bytes;
  };
  void complete(std::size_t left);

  BySide<std::size_t> room_{kUnlimited, kUnlimited};
  std::deque<InFlight> in_flight_;
  std::vector<unsigned> in_use_before_;
};

}  // namespace longhaul::test
