// SPDX-License-Identifier: BSD-3-Clause
// The estimate of a link, compared with a known link: a first-in first-out queue before a line.
#include "custody/link_estimate.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

using namespace longhaul;
using namespace longhaul::custody;

namespace {

constexpr std::uint64_t kFrame = 1250;

/// Gets frames of one size at a steady rate. Each answer comes when its frame has crossed the link and the answer has
/// come back.
class Link {
 public:
  double rate = 1e9;  ///< bits per second
  Duration round_trip = milliseconds(2);
  std::uint64_t queue = 1 << 30;  ///< bytes; a frame that finds it full is lost without notice
  double back_bps = 0;            ///< comes from the other side
  Duration slow = 0;              ///< every second answer comes this much later: its responder is slow
  LinkEstimate estimate;
  Time now = seconds(1);

  /// Sends at `offered` bits per second, or as fast as the estimate allows if that is less.
  void send(double offered, Duration time) {
    const Time end = now + time;
    for (; now < end; now += microseconds(1)) {
      const double pace = static_cast<double>(estimate.pace_bps());
      tokens_ += (pace != 0 ? std::min(pace, offered) : offered) / 8e9 * 1000;
      for (; tokens_ >= kFrame; tokens_ -= kFrame) send_one();
      received_ += back_bps / 8e9 * 1000;
      for (; now >= hears_at_ && !under_way_.empty() && under_way_.front().answered_at <= now; under_way_.pop_front()) {
        estimate.on_answer(under_way_.front().sent_at, now);
        if (hears_at_ != 0) hears_at_ = now + microseconds(2);
      }
      if (now >= estimate.due_at()) estimate.look(sent_, static_cast<std::uint64_t>(received_), now);
    }
  }

  void stand_still(Duration time) {
    free_at_ = std::max(free_at_, static_cast<double>(now)) + static_cast<double>(time);
  }

  /// Answers that come meanwhile are heard afterwards, one every 2 us.
  void be_deaf(Duration time) { hears_at_ = now + time; }

  /// Bits per second.
  double believed() const { return static_cast<double>(estimate.rate_bps()); }

  double queued_seconds() const {
    return free_at_ <= static_cast<double>(now) ? 0 : (free_at_ - static_cast<double>(now)) / 1e9;
  }

 private:
  struct Frame {
    Time sent_at;
    Time answered_at;
  };

  void send_one() {
    sent_ += kFrame;
    if (queued_seconds() * rate / 8 >= static_cast<double>(queue)) return;
    free_at_ = std::max(free_at_, static_cast<double>(now)) + kFrame * 8e9 / rate;
    const Duration late = slow != 0 && ++count_ % 2 == 0 ? slow : 0;
    const Frame frame{now, static_cast<Time>(free_at_) + round_trip + late};
    under_way_.insert(std::upper_bound(under_way_.begin(), under_way_.end(), frame.answered_at,
                                       [](Time at, const Frame& f) { return at < f.answered_at; }),
                      frame);
  }

  Time hears_at_ = 0;  // 0: it was never deaf
  double tokens_ = 0;
  double free_at_ = 0;
  double received_ = 0;
  std::uint64_t sent_ = 0;
  unsigned count_ = 0;
  std::deque<Frame> under_way_;
};

}  // namespace

TEST_CASE("a full link's rate and round trip are found, and its queue is emptied", "[custody][link]") {
  Link link;
  SECTION("1 Gbit/s, 2 ms") {}
  SECTION("100 Mbit/s, 40 ms") {
    link.rate = 1e8;
    link.round_trip = milliseconds(40);
  }
  SECTION("20 us") { link.round_trip = microseconds(20); }
  const Duration round = std::max(link.round_trip, milliseconds(1));
  link.send(1.5 * link.rate, 4 * round);
  CHECK(link.believed() == Approx(link.rate).epsilon(0.03));
  link.send(2 * link.rate, 40 * round);
  CHECK(link.believed() == Approx(link.rate).epsilon(0.05));
  // At most what a probe of a quarter more has left, and a little.
  CHECK(link.queued_seconds() * 1e9 < 0.6 * static_cast<double>(round));
  const double alone = static_cast<double>(link.round_trip) + kFrame * 8e9 / link.rate;
  CHECK(static_cast<double>(link.estimate.rtt().minimum()) == Approx(alone).epsilon(0.02));
}

TEST_CASE("on a slow and long link, the first rate that is found is right", "[custody][link]") {
  Link link;
  link.rate = 1e7;
  link.round_trip = milliseconds(100);
  for (int i = 0; i < 30 && link.estimate.rate_bps() == 0; ++i) link.send(3 * link.rate, milliseconds(25));
  CHECK(link.believed() == Approx(link.rate).epsilon(0.05));
}

TEST_CASE("a link is full when frames wait for more than an eighth of its own delay", "[custody][link]") {
  const bool more = GENERATE(false, true);
  Link link;
  link.round_trip = milliseconds(16);
  link.send(0.5 * link.rate, milliseconds(40));
  link.send(2 * link.rate, more ? microseconds(2080) : microseconds(1920));
  link.send(link.rate, milliseconds(60));  // so that the queue stays
  CHECK((link.estimate.rate_bps() != 0) == more);
}

TEST_CASE("a link that is not full has no rate", "[custody][link]") {
  Link link;
  SECTION("it carries less than it could") {}
  SECTION("every other answer comes late") { link.slow = milliseconds(5); }
  link.send(0.8e9, seconds(1));
  CHECK(link.estimate.rate_bps() == 0);
  CHECK(link.estimate.pace_bps() == 0);
}

TEST_CASE("a link that becomes faster is followed, one that becomes slower at once", "[custody][link]") {
  Link link;
  link.send(2e9, milliseconds(100));
  link.rate = 2e9;
  link.send(4e9, milliseconds(400));
  CHECK(link.believed() == Approx(2e9).epsilon(0.05));
  link.rate = 5e8;
  link.send(4e9, milliseconds(60));
  CHECK(link.believed() == Approx(5e8).epsilon(0.1));
}

TEST_CASE("a link that stands still for a moment keeps its rate", "[custody][link]") {
  Link link;
  link.send(2e9, milliseconds(100));
  link.stand_still(milliseconds(50));
  link.send(2e9, milliseconds(100));
  CHECK(link.believed() == Approx(1e9).epsilon(0.05));
}

TEST_CASE("answers that were held up and come at once do not make the link look fast", "[custody][link]") {
  Link link;
  link.round_trip = milliseconds(10);
  link.send(1.2e9, milliseconds(60));
  for (int i = 0; i < 100; ++i) {
    link.be_deaf(microseconds(500 + 37 * i));
    link.send(1.2e9, milliseconds(7));
    CHECK(link.believed() < 1.4 * link.rate);  // a round of 10 ms, held up for 4 ms
  }
}

TEST_CASE("a rate that nothing has come near to is forgotten after ten seconds", "[custody][link]") {
  Link link;
  link.send(2e9, milliseconds(100));
  link.send(1e8, seconds(9));
  CHECK(link.estimate.rate_bps() != 0);
  link.send(1e8, seconds(2));
  CHECK(link.estimate.rate_bps() == 0);
  CHECK(link.estimate.pace_bps() == 0);
}

TEST_CASE("as much as comes back is carried there as well", "[custody][link]") {
  // If the way back is full, all answers come later and later.
  Link link;
  link.rate = 3e8;
  link.back_bps = 1e9;
  link.send(6e8, milliseconds(50));
  CHECK(link.believed() == Approx(1e9).epsilon(0.05));
}

TEST_CASE("where the link has lost something a rate that is too high is not believed", "[custody][link]") {
  Link link;
  link.send(1.2e9, milliseconds(20));
  const double before = link.believed();
  CHECK(before == Approx(1e9).epsilon(0.03));
  link.queue = 100'000;  // lost frames were sent, too
  for (int i = 0; i < 20; ++i) {
    link.estimate.on_loss(link.now);
    link.send(1e10, milliseconds(1));
  }
  CHECK(link.believed() <= 1.03 * before);
}

TEST_CASE("at the start the room doubles with each round that it limits, until the link was full", "[custody][link]") {
  Link link;
  const std::uint64_t first = link.estimate.room_bytes();
  link.send(1e8, milliseconds(20));
  CHECK(link.estimate.room_bytes() == first);
  link.estimate.on_limited();
  link.send(1e8, milliseconds(4));
  CHECK(link.estimate.room_bytes() == 2 * first);
  link.estimate.on_limited();
  link.estimate.on_loss(link.now);
  link.send(1e8, milliseconds(4));
  CHECK(link.estimate.room_bytes() == 2 * first);
  CHECK(link.estimate.starting());
  link.send(2e9, milliseconds(20));
  CHECK_FALSE(link.estimate.starting());
}
