// SPDX-License-Identifier: BSD-3-Clause
// Two boxes that are peers, with real engines and the judge of the random worlds, over a long haul that loses packets:
// what is sent again, and that the far host never has to ask.
#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "drivers/eal.hpp"
#include "sim/frames.hpp"
#include "sim/world.hpp"

using namespace longhaul;

namespace {

const engine::Pools& pools() {
  static const engine::Pools made = [] {
    engine::PoolPlan plan;
    plan.name = "long_haul";
    plan.frame_bytes = 4400;
    plan.frames = 32768;
    plan.small_frames = 16384;
    return engine::Pools::create(plan);
  }();
  return made;
}

/// READs of 256 KiB, 16 under way: a third of the line.
const std::string kReads =
    "a.mix=8 a.max_bytes=262144 a.messages=64 a.depth=16 a.initiator_depth=16 b.initiator_depth=16 ";

/// A line of 10 Gbit/s and 10 ms there and back, WRITEs of 4 KiB, and peers that have met before.
class LongHaul {
 public:
  explicit LongHaul(const std::string& more)
      : world_(sim::parse_case("starts_us=700000 wan_delay_us=5000 wan_mbps=10000 wan_queue=100000000 mtu=5 "
                               "line_overhead=24 close=0 a.mix=1 a.uniform=1 a.max_bytes=4096 a.depth=128 a.burst=1 "
                               "a.window=4194303 a.warm_up=1 a.messages=4000 a.ack_timeout_us=70000 a.port_mbps=10000 "
                               "b.port_mbps=10000 box_a.peer=1 box_b.peer=1 box_a.wan_mbps=10000 "
                               "box_a.window_bytes=30000000 box_a.mbufs=20000 box_b.mbufs=20000 " +
                               more),
               pools(), [this](Duration at, const char* where, const sim::View& view) { see(at, where, view); }),
        result_(world_.run()) {
    if (result_.violation) FAIL(result_.violation->text);
    for (const sim::Delivery& delivery : result_.deliveries)
      if (delivery.host == 0) accepted = accepted && delivery.accepted, took = std::max(took, delivery.took);
  }

  std::uint64_t near(Counter counter) const { return world_.count(0, counter); }
  std::uint64_t far(Counter counter) const { return world_.count(1, counter); }
  std::uint64_t lost() const { return result_.totals.lost + result_.totals.burst_lost; }
  /// From its first packet until its responder has accepted the last byte; kNever: it has not.
  Duration took_by(const std::string& flow) const {
    for (const sim::Delivery& delivery : result_.deliveries)
      if (delivery.flow == flow && delivery.accepted) return delivery.took;
    return kNever;
  }
  /// From the first READ until its last response came to the requester.
  Duration read_took() const { return read_at_ - milliseconds(700); }
  /// No requester has asked for a response again.
  void check_read_once() const { CHECK(read_again_ == 0); }
  /// The far host never saw a gap, and nobody's timer went off.
  void check_unnoticed() const {
    CHECK(accepted);
    CHECK(near(Counter::flows_bound) >= 1);
    CHECK(near(Counter::real_naks) == 0);
    CHECK(near(Counter::resends_timer) == 0);
    CHECK(far(Counter::far_gaps_given_up) == 0);
  }

  bool accepted = true;
  Duration took = 0;

 private:
  void see(Duration at, std::string_view where, const sim::View& view) {
    if (!view.reliable() || view.frame.opcode == nullptr) return;
    const auto operation = view.frame.opcode->operation;
    if (where == "  < boxA" && operation == wire::Operation::read_response &&
        responses_.insert({view.frame.destination_qpn(), view.frame.psn()}).second)
      read_at_ = at;
    if (where == "  > boxA" && operation == wire::Operation::read_request &&
        !asked_.insert({view.frame.destination_qpn(), view.frame.psn()}).second)
      ++read_again_;
  }

  std::set<std::pair<std::uint32_t, std::uint32_t>> asked_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> responses_;
  unsigned read_again_ = 0;
  Duration read_at_ = 0;
  sim::World world_;
  sim::Result result_;
};

}  // namespace

TEST_CASE("what the long haul loses goes again, and nothing else", "[relay]") {
  const LongHaul run("ab1.loss=10");
  run.check_unnoticed();
  CHECK(run.lost() >= 2);
  // A datagram of the boxes may be among what was lost.
  CHECK(run.near(Counter::repairs) > 0);
  CHECK(run.near(Counter::repairs) <= run.lost());
  CHECK(run.near(Counter::resends) == run.near(Counter::repairs) + run.near(Counter::repair_copies));
}

TEST_CASE("a link that loses a hundredth has its repairs sent in copies", "[relay]") {
  const LongHaul run("ab1.loss=100");
  run.check_unnoticed();
  CHECK(run.near(Counter::repairs) >= 20);
  CHECK(run.near(Counter::repair_copies) > 0);
  CHECK(static_cast<double>(run.near(Counter::resends)) <= 3.2 * static_cast<double>(run.lost()));
}

TEST_CASE("losses in bursts are repaired in one round trip", "[relay]") {
  const LongHaul run("ab1.burst=5 ab1.burst_frames=32");
  run.check_unnoticed();
  CHECK(run.near(Counter::repairs) > 10);
  CHECK(run.near(Counter::repairs) <= run.lost() + run.lost() / 5);
}

TEST_CASE("a repair that is lost goes again", "[relay]") {
  // A message's packet, and its repair.
  const LongHaul run("event=1:0:0:0:2000:0:1:2:0:0");
  run.check_unnoticed();
  CHECK(run.near(Counter::repairs) == 2);
}

TEST_CASE("what custody sends again after an outage is repaired, too", "[relay]") {
  // Longer than gaps are waited for. Were it not put in order, each loss of the resend would cost a round trip.
  const LongHaul run("ab1.loss=100 a.messages=20000 outage_at_us=730000 outage_us=60000 outage_segment=1");
  CHECK(run.accepted);
  CHECK(run.far(Counter::far_gaps_given_up) > 0);
  CHECK(run.near(Counter::resends_psn_nak) + run.near(Counter::resends_timer) > 0);
  CHECK(run.near(Counter::real_naks) <= 2);
  CHECK(run.near(Counter::flows_bound) == 1);
}

TEST_CASE("nothing is repaired before the responder has answered", "[relay]") {
  // Its queue pair may have begun another life. The requester repeats it.
  const LongHaul run("a.messages=3 event=1:0:0:0:0:0:1:1:0:0 a.warm_up=0");
  CHECK(run.accepted);
  CHECK(run.near(Counter::repairs) == 0);
}

TEST_CASE("the end of a flow is announced, and repaired if it is lost", "[relay]") {
  const LongHaul run("a.messages=300 event=1:0:0:0:300:0:1:1:0:0");
  run.check_unnoticed();
  CHECK(run.near(Counter::repairs) == 1);
}

TEST_CASE("mere reordering within the window repairs nothing", "[relay]") {
  const LongHaul run("ab1.reorder=100 ab1.reorder_us=60");
  run.check_unnoticed();
  CHECK(run.far(Counter::far_held) > 10);
  CHECK(run.near(Counter::repairs) == 0);
}

TEST_CASE("a window that is too small for the path grows", "[relay]") {
  const LongHaul run("a.messages=24000 ab1.reorder=300 ab1.reorder_us=150");
  run.check_unnoticed();
  // Of 720 that come late.
  CHECK(run.near(Counter::repairs) < 450);
}

TEST_CASE("a far box that is gone leaves the near one to itself", "[relay]") {
  const LongHaul run("ab1.loss=10 box_b.crash_at_us=720000");
  CHECK(run.accepted);
}

TEST_CASE("several flows are repaired, each for itself", "[relay]") {
  const LongHaul run("connections=8 psns_apart=60000 a.messages=500 ab1.loss=30 ba1.loss=30");
  run.check_unnoticed();
  CHECK(run.near(Counter::repairs) > 3);
}

// ---- answers ------------------------------------------------------------------------------------

TEST_CASE("READ responses that the long haul loses go again, and nothing else", "[relay]") {
  const LongHaul run(kReads + "ba1.loss=50");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.far(Counter::answer_repairs) >= 10);
  CHECK(run.far(Counter::answer_repairs) <= run.lost());
  CHECK(run.near(Counter::answers_waited) > 100);
  CHECK(run.near(Counter::answers_waited_in_vain) == 0);
}

TEST_CASE("READ responses lost in bursts are repaired", "[relay]") {
  const LongHaul run(kReads + "ba1.burst=10 ba1.burst_frames=32");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.far(Counter::answer_repairs) > 10);
  CHECK(run.far(Counter::answer_repairs) <= run.lost() + run.lost() / 5);
}

TEST_CASE("READs and their responses may both be lost", "[relay]") {
  const LongHaul run(kReads + "ab1.loss=100 ba1.loss=100");
  CHECK(run.accepted);
  run.check_read_once();
  CHECK(run.far(Counter::answer_repair_copies) > 0);
}

TEST_CASE("a lost READ goes again once: its responder would execute each copy", "[relay]") {
  const LongHaul run(kReads + "a.max_bytes=4096 a.messages=500 connections=4 psns_apart=60000 ab1.loss=500");
  CHECK(run.accepted);
  CHECK(run.near(Counter::repairs) > 20);
  CHECK(run.near(Counter::repair_copies) == 0);
}

TEST_CASE("a response that comes twice does not overtake those that wait", "[relay]") {
  const LongHaul run(kReads + "ba1.loss=50 ba1.duplicate=1000");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.near(Counter::absorbed_early_repeats) > 10);
}

TEST_CASE("the end of a READ is announced, and repaired if it is lost", "[relay]") {
  // The last response of all, which nothing follows.
  const LongHaul run(kReads + "a.messages=3 event=1:1:0:1:192:0:1:1:0:0");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.far(Counter::answer_repairs) == 1);
}

TEST_CASE("an ACK does not overtake a READ response that is lost", "[relay]") {
  // A READ, and WRITEs behind it.
  const LongHaul run("a.mix=3 a.messages=400 a.max_bytes=20000 a.depth=16 ba1.loss=100");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.near(Counter::responses_lost) == 0);
  CHECK(run.far(Counter::answer_repairs) > 0);
}

TEST_CASE("a requester that says nothing for long has its answers put in order, too", "[relay]") {
  // A READ of 8 MiB takes 67 ms, and what waits for a lost response does so for 30.
  const LongHaul run(
      "a.mix=8 a.uniform=1 a.max_bytes=8388608 a.messages=3 a.depth=1 a.initiator_depth=1 b.initiator_depth=1 "
      "ba1.loss=30 a.ack_timeout_us=500000 b.port_mbps=1000");
  run.check_read_once();
  CHECK(run.accepted);
  CHECK(run.far(Counter::answer_repairs) > 2);
  CHECK(run.near(Counter::answers_waited_in_vain) == 0);
}

TEST_CASE("the last ACK is asked for, and no timer goes off", "[relay]") {
  const LongHaul run("a.messages=300 event=1:1:0:1:300:0:1:1:0:0");
  run.check_unnoticed();
  CHECK(run.far(Counter::acks_sent_again) == 1);
}

TEST_CASE("mere reordering of responses repairs nothing", "[relay]") {
  const LongHaul run(kReads + "ba1.reorder=100 ba1.reorder_us=60");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.near(Counter::answers_waited) > 10);
  CHECK(run.far(Counter::answer_repairs) == 0);
}

TEST_CASE("responses that find no room to wait are sent again, not out of order", "[relay]") {
  const LongHaul run(kReads + "ba1.loss=50 box_a.mbufs=1000");
  run.check_unnoticed();
  run.check_read_once();
  CHECK(run.near(Counter::dropped_early_full) > 0);
}

TEST_CASE("a far box that is gone cannot send responses again", "[relay]") {
  const LongHaul run(kReads + "ba1.loss=30 box_b.crash_at_us=720000");
  CHECK(run.accepted);
}

TEST_CASE("without a peer lost responses cost round trips", "[relay]") {
  const LongHaul paired(kReads + "ba1.loss=30");
  const LongHaul alone(kReads + "ba1.loss=30 box_a.peer=0 box_b.peer=0");
  CHECK(alone.accepted);
  CHECK(4 * paired.read_took() < 3 * alone.read_took());
}

// ---- several workers ----------------------------------------------------------------------------

TEST_CASE("boxes that spread flows over several workers repair them as one does", "[relay]") {
  const auto* workers = GENERATE("box_a.workers=4 box_b.workers=3", "box_a.workers=1 box_b.workers=4",
                                 "box_a.workers=2 box_b.workers=1 box_a.hand_over_us=10");
  // With this seed no BIND is lost.
  const LongHaul run(std::string("seed=3 connections=6 a.messages=800 ab1.loss=100 ") + workers);
  run.check_unnoticed();
  CHECK(run.near(Counter::flows_bound) >= 6);
  CHECK(run.near(Counter::repairs) >= 20);
  CHECK(run.far(Counter::handed_over) + run.near(Counter::handed_over) > 0);
  CHECK(static_cast<double>(run.near(Counter::resends)) <= 3.2 * static_cast<double>(run.lost()));
}

TEST_CASE("boxes of several workers put answers in order, too", "[relay]") {
  const LongHaul run(kReads + "connections=3 ba1.loss=30 box_a.workers=3 box_b.workers=4");
  run.check_read_once();
  CHECK(run.accepted);
  CHECK(run.far(Counter::answer_repairs) > 0);
}

// ---- with a peer and without --------------------------------------------------------------------

TEST_CASE("without a peer the same losses cost round trips", "[relay]") {
  const std::string losses = "seed=3 ab1.loss=20";
  const LongHaul pair(losses);
  const LongHaul alone(losses + " box_b.peer=0");
  CHECK(alone.near(Counter::flows_bound) == 0);
  CHECK(pair.took < alone.took);
}

TEST_CASE("queue pairs that come back unannounced wait for the far box, and for no timer", "[relay]") {
  const std::string lives = "a.messages=500 come_back=1 come_back_us=1000 come_back_same=0 a.ack_timeout_us=500000";
  const LongHaul pair(lives);
  const LongHaul alone(lives + " box_b.peer=0");
  CHECK(pair.near(Counter::flows_doubted) > 0);
  CHECK(alone.took_by("A>B 0.1") != kNever);
  CHECK(pair.took_by("A>B 0.1") < alone.took_by("A>B 0.1") + milliseconds(40));
}

/// Queue pairs that come back unannounced, 100 ms away: their requests wait for the far box.
const std::string kComeBack =
    "connected=1 starts_us=900000 close=1 wan_delay_us=50000 wan_mbps=0 come_back=1 come_back_us=250000 "
    "come_back_same=0 a.mix=6 a.max_bytes=500 a.warm_up=0 a.messages=40 a.depth=16 a.window=64 a.burst=8 a.port_mbps=0 "
    "b.port_mbps=0 a.ack_timeout_us=400000 box_a.wan_mbps=0 box_a.policy=2 ";

TEST_CASE("a requester that repeats single requests has the others wait no longer", "[relay]") {
  const char* habit = GENERATE("", "a.first_timeout_us=16000", "a.ack_timeout_us=67000");
  const std::string one_by_one = kComeBack + "come_back_psn=10 a.selective=1 " + habit;
  const LongHaul pair(one_by_one);
  const LongHaul alone(one_by_one + " box_b.peer=0");
  CHECK(pair.near(Counter::flows_doubted) > 0);
  CHECK(pair.took_by("A>B 0.1") < alone.took_by("A>B 0.1") + milliseconds(150));
}

// ---- the far host's side ------------------------------------------------------------------------

namespace {

/// Of WRITEs: the far host had to ask, and the near box did not hear of it.
void check_mended_beyond(const LongHaul& run) {
  run.check_unnoticed();
  CHECK(run.near(Counter::resends) == 0);
  CHECK(run.far(Counter::absorbed_host_naks) + run.far(Counter::silent_hosts) > 0);
}

}  // namespace

TEST_CASE("what is lost between the far box and its host goes again from there", "[relay]") {
  // A host that takes no more than the long haul brings would keep what goes again as a queue.
  const LongHaul run("ab2.loss=100 b.port_mbps=25000");
  check_mended_beyond(run);
  CHECK(run.lost() >= 20);
  CHECK(run.took < LongHaul("").took * 11 / 10);
}

TEST_CASE("losses in bursts beyond the far box do not reach the long haul", "[relay]") {
  check_mended_beyond(LongHaul("ab2.burst=30 ab2.burst_frames=32"));
}

TEST_CASE("peers leave a slow link to its traffic", "[relay]") {
  const std::string slow =
      "wan_delay_us=50 wan_mbps=10 wan_queue=80000 a.messages=400 a.max_bytes=700 a.depth=4 box_a.wan_mbps=10 ";
  const LongHaul alone(slow + "box_a.peer=0 box_b.peer=0");
  const LongHaul paired(slow);
  CHECK(paired.near(Counter::flows_bound) >= 1);
  CHECK(paired.took < alone.took + alone.took / 10);
}
