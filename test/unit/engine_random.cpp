// SPDX-License-Identifier: BSD-3-Clause
// Two hosts, a box and a bad long haul, at random: a go-back-N requester, a responder that behaves like Linux's rxe,
// losses, repeats and delay in both directions. The segment between requester and box loses nothing.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <queue>
#include <random>

#include "rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr std::uint32_t kMtu = 1024;
constexpr std::uint32_t kMask = 0xffffff;

std::int32_t distance(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>((a - b) << 8) >> 8; }
std::uint32_t plus(std::uint32_t a, std::uint32_t b) { return (a + b) & kMask; }

struct World {
  std::mt19937 random;
  double loss = 0;
  double repeat = 0;
  Duration delay = 0;
  Duration jitter = 0;  ///< above zero frames overtake each other
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }
  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random); }
};

/// One direction of the long haul.
class Haul {
 public:
  void put(World& world, const Bytes& frame, Time now) {
    if (world.chance(world.loss)) return;
    for (int copies = world.chance(world.repeat) ? 2 : 1; copies > 0; --copies) {
      Time at = now + world.delay;
      if (world.jitter == 0)
        at = last_ = std::max(at, last_);
      else
        at += world.below(static_cast<std::uint32_t>(world.jitter));
      under_way_.emplace(at, frame);
    }
  }
  Time next() const { return under_way_.empty() ? kNever : under_way_.begin()->first; }
  Bytes take() {
    Bytes frame = std::move(under_way_.begin()->second);
    under_way_.erase(under_way_.begin());
    return frame;
  }

 private:
  std::multimap<Time, Bytes> under_way_;
  Time last_ = 0;
};

struct Packet {
  Bytes frame;
  std::uint32_t psn;
  std::uint32_t last_psn;
  bool read = false;
};

/// Posts messages, sends them in order, goes back on NAK and timeout, never gives up.
class Requester {
 public:
  Requester(const Pair& pair, World& world, unsigned messages) : pair_(pair), world_(world), next_psn_(pair.a_psn) {
    for (unsigned i = 0; i < messages; ++i) post();
    response_next_ = pair.a_psn;
  }

  const std::vector<Packet>& packets() const { return packets_; }
  bool done() const { return first_ == packets_.size(); }
  Time timeout() const { return done() ? kNever : timer_; }
  const std::string& complaint() const { return complaint_; }

  std::vector<Bytes> send(Time now) {
    std::vector<Bytes> burst;
    if (now < hold_until_) return burst;
    for (unsigned n = 1 + world_.below(6); n > 0 && next_ < packets_.size() && next_ < first_ + kWindow; --n, ++next_)
      burst.push_back(rest_of(packets_[next_]));
    if (!burst.empty() && timer_ == kNever) timer_ = now + kTimeout;
    return burst;
  }
  bool wants_to_send(Time now) const {
    return now >= hold_until_ && next_ < packets_.size() && next_ < first_ + kWindow;
  }
  Time hold_until() const { return hold_until_; }

  void on_timeout(Time now) {
    next_ = first_;
    timer_ = now + kTimeout;
  }

  void receive(const Seen& seen, Time now) {
    if (!seen.good_icrc) complaint_ = "bad ICRC: " + seen.line();
    if (seen.opcode == 0x11 && seen.syndrome >> 5 == 0) {
      complete_until(plus(seen.psn, 1), now);
    } else if (seen.opcode == 0x11 && seen.syndrome >> 5 == 1) {
      complete_until(seen.psn, now);
      next_ = first_;
      hold_until_ = now + milliseconds(1);
    } else if (seen.opcode == 0x11) {
      if (seen.syndrome != 0x60) complaint_ = "unexpected " + seen.line();
      complete_until(seen.psn, now);
      go_back();
    } else {
      response(seen, now);
    }
  }

 private:
  static constexpr std::size_t kWindow = 24;
  static constexpr Duration kTimeout = milliseconds(150);

  void post() {
    const unsigned kind = world_.below(10);
    if (kind < 2) {
      const std::uint32_t bytes = 1 + world_.below(3 * kMtu);
      add(pair_.read(next_psn_, bytes), (bytes + kMtu - 1) / kMtu, true);
    } else if (kind < 3) {
      add(pair_.atomic(next_psn_), 1, true);
    } else if (kind < 5) {
      const unsigned middles = world_.below(3);
      add(pair_.request("write_first", next_psn_, {false, kMtu}), 1, false);
      for (unsigned i = 0; i < middles; ++i) add(pair_.request("write_middle", next_psn_, {false, kMtu}), 1, false);
      add(pair_.request("write_last", next_psn_, {world_.chance(0.8), 1 + world_.below(kMtu)}), 1, false);
    } else {
      add(pair_.request("send_only", next_psn_, {world_.chance(0.7), world_.below(kMtu)}), 1, false);
    }
    if (packets_.size() > 1 && !ack_requested_last()) add(pair_.request("send_only", next_psn_, {true, 8}), 1, false);
  }
  bool ack_requested_last() const { return packets_.back().read || Seen(packets_.back().frame).ack_req; }

  void add(const Bytes& frame, std::uint32_t psns, bool read) {
    packets_.push_back({frame, next_psn_, plus(next_psn_, psns - 1), read});
    next_psn_ = plus(next_psn_, psns);
  }

  /// A READ partly answered is asked for its tail only.
  Bytes rest_of(const Packet& packet) const {
    if (&packet != &packets_[first_] || response_next_ == packet.psn || packet.psn == packet.last_psn || !packet.read)
      return packet.frame;
    if (distance(response_next_, packet.psn) <= 0 || distance(packet.last_psn, response_next_) < 0) return packet.frame;
    return pair_.read(response_next_, static_cast<std::uint32_t>(distance(packet.last_psn, response_next_) + 1) * kMtu);
  }

  /// Once between two completions, as rxe does: otherwise each repeated answer brings forth more of them.
  void go_back() {
    if (went_back_) return;
    went_back_ = true;
    next_ = first_;
  }

  void advance(Time now) {
    went_back_ = false;
    ++first_;
    next_ = std::max(next_, first_);
    timer_ = done() ? kNever : now + kTimeout;
    if (!done()) response_next_ = packets_[first_].psn;
  }

  void complete_until(std::uint32_t psn, Time now) {
    while (!done() && distance(packets_[first_].last_psn, psn) < 0) {
      if (packets_[first_].read) {
        // IBTA: an ACK beyond an unfinished READ says that its response is lost. Only the responder may say so.
        go_back();
        return;
      }
      advance(now);
    }
  }

  void response(const Seen& seen, Time now) {
    if (done()) return;
    if (!packets_[first_].read) {
      // It answers what precedes its READ.
      std::size_t i = first_;
      while (i < packets_.size() && distance(packets_[i].last_psn, seen.psn) < 0) ++i;
      if (i == packets_.size() || !packets_[i].read || distance(seen.psn, packets_[i].psn) < 0) return;
      complete_until(packets_[i].psn, now);
      if (first_ != i) return;
    }
    const Packet& read = packets_[first_];
    if (seen.psn != response_next_ || distance(read.last_psn, seen.psn) < 0) return;
    response_next_ = plus(seen.psn, 1);
    timer_ = now + kTimeout;
    if (seen.psn == read.last_psn) advance(now);
  }

  const Pair& pair_;
  World& world_;
  std::vector<Packet> packets_;
  std::uint32_t next_psn_;
  std::size_t first_ = 0;  ///< oldest packet not completed
  std::size_t next_ = 0;   ///< next to send
  std::uint32_t response_next_ = 0;
  Time timer_ = kNever;
  Time hold_until_ = 0;
  bool went_back_ = false;
  std::string complaint_;
};

/// Accepts in order only.
class Responder {
 public:
  Responder(const Pair& pair, World& world, const std::vector<Packet>& expected)
      : pair_(pair), world_(world), expected_(expected), epsn_(pair.a_psn) {}

  std::size_t accepted() const { return accepted_; }
  const std::string& complaint() const { return complaint_; }
  std::uint32_t expected_psn() const { return epsn_; }

  std::vector<Bytes> receive(const Bytes& frame) {
    const Seen seen(frame);
    if (!seen.good_icrc) complaint_ = "bad ICRC: " + seen.line();
    const std::int32_t ahead = distance(seen.psn, epsn_);
    if (ahead > 0) {
      if (nak_sent_) return {};
      nak_sent_ = true;
      return {pair_.nak(epsn_, msn_)};
    }
    if (ahead < 0) return repeated(seen);
    if (accepted_ == expected_.size()) {
      complaint_ = "a request nobody posted: " + seen.line();
      return {};
    }
    if (seen.opcode == 0x04 && world_.chance(rnr)) {
      nak_sent_ = true;
      return {pair_.rnr(epsn_, msn_, 10), pair_.nak(epsn_, msn_)};
    }
    nak_sent_ = false;
    const Packet& posted = expected_[accepted_++];
    Bytes want = posted.frame;
    if (seen.ack_req && frame.size() == want.size()) {
      // The box may add AckReq, and the ICRC with it.
      want[seen.bth + 8] |= 0x80;
      std::copy(frame.end() - 4, frame.end(), want.end() - 4);
    }
    if (frame != want) complaint_ = "altered: " + seen.line();
    epsn_ = plus(posted.last_psn, 1);
    if (seen.opcode != 0x06 && seen.opcode != 0x07) ++msn_;
    if (posted.read) return responses(seen.psn, posted.last_psn, seen.opcode);
    if (!seen.ack_req) return {};
    return {pair_.ack(seen.psn, msn_ & kMask)};
  }

  double rnr = 0;

 private:
  std::vector<Bytes> repeated(const Seen& seen) {
    const bool read = seen.opcode == 0x0c;
    if (!read && seen.opcode != 0x14) return {pair_.ack(plus(epsn_, kMask), msn_ & kMask)};
    for (const Packet& packet : expected_)
      if (distance(seen.psn, packet.psn) >= 0 && distance(packet.last_psn, seen.psn) >= 0)
        return packet.read ? responses(seen.psn, packet.last_psn, seen.opcode) : std::vector<Bytes>{};
    return {};
  }

  std::vector<Bytes> responses(std::uint32_t psn, std::uint32_t last, std::uint8_t opcode) {
    if (opcode == 0x14) return {pair_.answer("atomic_answer", psn, msn_)};
    if (psn == last) return {pair_.answer("read_only", psn, msn_)};
    std::vector<Bytes> all{pair_.answer("read_first", psn, msn_)};
    for (psn = plus(psn, 1); psn != last; psn = plus(psn, 1)) all.push_back(pair_.answer("read_middle", psn, msn_));
    all.push_back(pair_.answer("read_last", last, msn_));
    return all;
  }

  const Pair& pair_;
  World& world_;
  const std::vector<Packet>& expected_;
  std::size_t accepted_ = 0;
  std::uint32_t epsn_;
  std::uint32_t msn_ = 0;
  bool nak_sent_ = false;
  std::string complaint_;
};

/// Remembers what the box promised.
struct Promises final : custody::Observer {
  void on_pseudo_ack(const custody::FlowIdentity&, const custody::AckFields& ack, Time) override {
    promised = plus(ack.psn, 1);
    any = true;
  }
  std::uint32_t promised = 0;
  bool any = false;
};

struct Outcome {
  std::uint64_t pseudo_acks = 0;
  std::uint64_t resends = 0;
  std::uint64_t msn_disagreed = 0;
};

/// With LONGHAUL_SEED set every frame is told.
void tell(const char* where, const Bytes& frame, Time now) {
  if (std::getenv("LONGHAUL_SEED") != nullptr)
    std::printf("%9.3f ms %s %s\n", static_cast<double>(now - seconds(1000)) / 1e6, where, Seen(frame).line().c_str());
}

Outcome run(unsigned seed) {
  World world;
  world.random.seed(seed);
  world.loss = world.below(3) == 0 ? 0 : 0.15 * world.below(100) / 100;
  world.repeat = world.below(2) == 0 ? 0 : 0.05;
  world.delay = microseconds(100 + world.below(10000));
  world.jitter = world.below(4) == 0 ? microseconds(200) : 0;

  auto settings = small_settings();
  if (world.below(4) == 0) settings.confirm = engine::Confirm::cm;
  if (world.below(4) == 0) settings.custody_flow_bytes = 3000 + world.below(20000);
  if (world.below(4) == 0) settings.initial_window_bytes = 1500 + world.below(10000);
  if (world.below(4) == 0) settings.wan_rate_bps = 50'000'000;
  Promises promises;
  Rig rig(settings, &promises);
  Pair pair;
  pair.a_psn = world.below(3) == 0 ? 0xffffff - world.below(20) : world.below(kMask);
  rig.connect(pair);

  Requester requester(pair, world, 20 + world.below(40));
  Responder responder(pair, world, requester.packets());
  if (world.below(3) == 0) responder.rnr = 0.05;
  const double full = world.below(4) == 0 ? 0.05 : 0;
  Haul out;
  Haul back;

  const Time limit = rig.now + seconds(300);
  const auto drain = [&] {
    for (Seen& seen : rig.wan_out) {
      tell("      box >", seen.bytes, rig.now);
      out.put(world, seen.bytes, rig.now);
    }
    rig.wan_out.clear();
    for (Seen& seen : rig.host_out) {
      tell("    < box", seen.bytes, rig.now);
      requester.receive(seen, rig.now);
    }
    rig.host_out.clear();
  };
  for (unsigned steps = 0; rig.now < limit; ++steps) {
    if (steps > 200000)
      FAIL("the world stands still at " << rig.now << ": engine " << rig.engine->next_deadline() << ", requester "
                                        << requester.timeout() << " hold " << requester.hold_until() << ", links "
                                        << out.next() << " " << back.next() << ", custody "
                                        << rig.engine->custody_packets() << ", waiting " << rig.engine->waiting_frames()
                                        << ", accepted " << responder.accepted() << " of "
                                        << requester.packets().size());
    if (requester.done() && rig.engine->custody_packets() == 0 && responder.accepted() == requester.packets().size())
      break;
    rig.allow(Side::wan, world.chance(full) ? world.below(3) : Rig::kUnlimited);
    rig.allow(Side::host, world.chance(full) ? world.below(3) : Rig::kUnlimited);
    Time next = std::min({out.next(), back.next(), rig.engine->next_deadline(), requester.timeout()});
    if (requester.wants_to_send(rig.now)) next = std::min(next, rig.now + microseconds(world.below(100)));
    if (requester.hold_until() > rig.now) next = std::min(next, requester.hold_until());
    if (next == kNever) break;
    rig.now = std::max(rig.now, next);
    if (requester.wants_to_send(rig.now)) {
      const auto burst = requester.send(rig.now);
      for (const Bytes& frame : burst) tell("> box", frame, rig.now);
      rig.host_sends(burst);
    }
    if (out.next() <= rig.now) {
      const Bytes frame = out.take();
      tell("            > responder", frame, rig.now);
      for (const Bytes& answer : responder.receive(frame)) back.put(world, answer, rig.now);
    }
    if (back.next() <= rig.now) {
      const Bytes frame = back.take();
      tell("      box <", frame, rig.now);
      rig.wan_sends(frame);
    }
    if (rig.engine->next_deadline() <= rig.now) {
      rig.engine->poll(rig.now);
      // A little later: a deadline that stands still would hang the box.
      rig.now += 1;
    }
    drain();
    if (requester.timeout() <= rig.now) requester.on_timeout(rig.now);
    REQUIRE(requester.complaint() == "");
    REQUIRE(responder.complaint() == "");
  }
  CAPTURE(rig.now - (limit - seconds(300)), world.loss, world.delay, requester.packets().size());
  REQUIRE(requester.done());
  REQUIRE(responder.accepted() == requester.packets().size());
  REQUIRE(rig.engine->custody_packets() == 0);
  if (promises.any) REQUIRE(distance(promises.promised, responder.expected_psn()) <= 0);
  REQUIRE(rig.count(Counter::flows_failed) == 0);
  return {rig.count(Counter::pseudo_acks), rig.count(Counter::resends), rig.count(Counter::msn_disagreed)};
}

}  // namespace

TEST_CASE("at random: everything posted is accepted once, in order, and custody ends empty", "[engine][random]") {
  Outcome total;
  const char* only = std::getenv("LONGHAUL_SEED");
  const unsigned first = only == nullptr ? 1 : static_cast<unsigned>(std::atoi(only));
  for (unsigned seed = first; seed < first + (only == nullptr ? 2000 : 1); ++seed) {
    INFO("LONGHAUL_SEED=" << seed);
    CAPTURE(seed);
    const Outcome outcome = run(seed);
    total.pseudo_acks += outcome.pseudo_acks;
    total.resends += outcome.resends;
    total.msn_disagreed += outcome.msn_disagreed;
  }
  if (only != nullptr) return;
  CHECK(total.pseudo_acks > 20000);
  CHECK(total.resends > 5000);
  CHECK(total.msn_disagreed == 0);
}
