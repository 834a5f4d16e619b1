// SPDX-License-Identifier: BSD-3-Clause
// What another implementation (test/peer/repeat_vectors.py) made from docs/peer-protocol.md, section 9, alone.
#include <fmt/format.h>
#include <rte_mbuf.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../support/mbufs.hpp"
#include "flow/connection_key.hpp"
#include "one_flow.hpp"
#include "relay/answer_copies.hpp"
#include "relay/far_part.hpp"
#include "relay/loss_rate.hpp"
#include "wire/builder.hpp"
#include "wire/opcode.hpp"

using namespace longhaul;
using namespace longhaul::relay;
using namespace longhaul::test;
using Json = nlohmann::json;

namespace {

std::vector<std::uint8_t> bytes_in(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string hex;
  for (const std::uint8_t byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

Json pairs_of(const std::vector<Missing>& missing) {
  Json out = Json::array();
  for (const Missing& range : missing)
    if (range.count != 0) out.push_back({range.psn, range.count});
  return out;
}

Json entries_of(const std::vector<std::uint8_t>& body, int type) {
  constexpr std::uint32_t kPsn = 0xffffff;
  Json out = Json::array();
  const auto named = [](const Name& name) {
    return Json{{"handle", std::uint32_t{name.handle}}, {"binding", std::uint32_t{name.binding}}};
  };
  switch (static_cast<Type>(type)) {
    case Type::bind:
      for (const BindEntry& entry : entries_in<BindEntry>(body)) {
        Json one = named(entry.name);
        one["outer_vlan"] = std::uint16_t{entry.outer_vid};
        one["inner_vlan"] = std::uint16_t{entry.inner_vid};
        one["requester"] = hex_of(entry.requester);
        one["responder"] = hex_of(entry.responder);
        one["qpn"] = entry.qpn & kPsn;
        one["psn"] = entry.psn & kPsn;
        one["path_mtu"] = std::uint32_t{entry.path_mtu};
        one["requester_qpn"] = entry.requester_qpn & kPsn;
        out.push_back(one);
      }
      return out;
    case Type::unbind:
      for (const UnbindEntry& entry : entries_in<UnbindEntry>(body)) {
        Json one = named(entry.name);
        one["keep"] = entry.keep;
        out.push_back(one);
      }
      return out;
    case Type::clock:
      for (const ClockEntry& entry : entries_in<ClockEntry>(std::span(body).subspan(sizeof(ClockHead)))) {
        Json one = named(entry.name);
        one["lowest"] = entry.lowest & kPsn;
        one["end"] = entry.end & kPsn;
        one["top"] = entry.top & kPsn;
        out.push_back(one);
      }
      return out;
    case Type::answer_clock:
      for (const AnswerClockEntry& entry : entries_in<AnswerClockEntry>(std::span(body).subspan(sizeof(ClockHead)))) {
        Json one = named(entry.name);
        one["top"] = entry.top & kPsn;
        out.push_back(one);
      }
      return out;
    case Type::state:
    case Type::answer_state: {
      StateReader reader(body);
      reader.head();
      StateEntry entry{};
      std::vector<Missing> missing;
      while (reader.next(entry, missing)) {
        Json one = named(entry.name);
        one["flags"] = entry.flags;
        one["psn"] = entry.psn & kPsn;
        one["missing"] = pairs_of(missing);
        out.push_back(one);
      }
      return out;
    }
  }
  return out;
}

/// One far box and one flow.
class Scenario final : public FarOutlet, public CopiesOutlet {
 public:
  explicit Scenario(const Json& scenario)
      : round_trip_(scenario.at("round_trip")),
        room_(scenario.value("room", 3000)),
        copies_(4, 0, counters_, *this),
        far_(4, static_cast<std::uint64_t>(room_), copies_, counters_, *this) {
    far_.set_round_trip(kPeer, round_trip_);
    bind(scenario.at("psn"), 0);
  }

  void take(const Json& step) {
    now_ = kStart + step.at("at").get<Time>();
    handed_.clear();
    report_ = {};
    const std::string what = step.at("do");
    if (what == "arrive")
      arrive(step.at("psn"), step.at("span"), step.at("packet"), step.value("good", 1) != 0);
    else if (what == "series")
      for (std::uint32_t i = 0; i < step.at("count"); ++i) {
        const std::uint32_t psn = step.at("first").get<std::uint32_t>() + i * step.at("step").get<std::uint32_t>();
        arrive(psn, 1, std::to_string(psn), true);
      }
    else if (what == "report")
      clock({});
    else if (what == "clock")
      clocked_ = true, clock(ClockEntry{name_, step.at("lowest").get<std::uint32_t>(),
                                        step.at("end").get<std::uint32_t>(), step.at("top").get<std::uint32_t>()});
    else if (what == "tick")
      far_.poll(now_, now_);
    else if (what == "unbind")
      clocked_ = true,
      far_.unbind(kPeer, bytes_of_entry(UnbindEntry{name_, step.at("keep").get<std::uint8_t>()}), now_);
    else if (what == "bind")
      bind(step.at("psn"), step.at("newer"));
    else if (what == "peer_gone")
      far_.forget(peer_of(kPeer), now_);
    else if (what == "rdma_cm")
      far_.another_life(key_, now_);
    else
      FAIL("unknown step " + what);
    // Whether time has passed or not, what is due is done.
    far_.poll(now_, now_);
  }

  const std::vector<std::string>& handed() const { return handed_; }
  /// An answer to a CLOCK is a report, which the scenario does not count.
  bool counts_reports() const { return !clocked_; }
  bool ordering() const { return far_.find(key_) != FarPart::kNone; }
  std::uint64_t held() const { return far_.held(); }
  std::uint32_t repeats() const { return repeats_; }
  const Json& report() const { return report_; }
  void unbind_newer(std::uint32_t newer) { far_.unbind(kPeer, bytes_of_entry(UnbindEntry{{1, 7 + newer}, 0}), now_); }
  void discard() { far_.discard(); }
  unsigned used() const { return pool_.used(); }

 private:
  template <typename Entry>
  static std::vector<std::uint8_t> bytes_of_entry(const Entry& entry) {
    Body body;
    body.add(entry);
    return {body.bytes().begin(), body.bytes().end()};
  }

  void bind(std::uint32_t psn, std::uint32_t newer) {
    name_.binding = 7 + newer;
    far_.bind(kPeer, bytes_of_entry(BindEntry::of(name_, key_, kRequesterQpn, psn, kMtu)), now_);
  }

  void clock(const std::optional<ClockEntry>& entry) {
    Body body;
    body.add(ClockHead{now_});
    if (entry) body.add(*entry);
    far_.clock(kPeer, To::one, body.bytes(), now_);
  }

  void arrive(std::uint32_t psn, std::uint32_t span, const std::string& packet, bool good) {
    wire::PacketBuilder builder;
    builder.ips(key_.first, key_.second).qpn(kQpn).psn(psn);
    if (span > 1)
      builder.opcode(wire::kRcReadRequest).reth(0x1000, 5, span * kMtu);
    else
      builder.opcode(wire::kRcSendOnly).payload(std::vector<std::uint8_t>(packet.begin(), packet.end()));
    rte_mbuf* mbuf = pool_.make(builder.build());
    packets_[frame_key(mbuf)] = packet;
    // The engine looks at the ICRC.
    give(far_, good ? far_.find(key_) : FarPart::kNone, *this, mbuf, now_);
  }

  bool host_takes() override { return true; }
  void hand_on(rte_mbuf* mbuf) override {
    handed_.push_back(packets_.at(frame_key(mbuf)));
    rte_pktmbuf_free(mbuf);
  }
  void send_to_host(rte_mbuf* mbuf) override { hand_on(mbuf); }
  bool hold(const rte_mbuf* mbuf) override { return true; }
  void let_go(const rte_mbuf* mbuf) override {}
  bool wan_takes() override { return true; }
  void send_to_wan(rte_mbuf* mbuf) override { rte_pktmbuf_free(mbuf); }
  rte_mbuf* made_frame(std::uint16_t) override { return nullptr; }
  void send(Speaker to, Type type, Bytes body) override {
    CHECK(to == kPeer);
    CHECK(type == Type::state);
    const std::vector<std::uint8_t> copy(body.begin(), body.end());
    repeats_ = reinterpret_cast<const StateHead*>(copy.data())->repeats;
    for (const Json& entry : entries_of(copy, static_cast<int>(Type::state))) {
      if (entry.at("binding") != std::uint32_t{name_.binding}) continue;
      if (report_.is_null()) report_ = {{"flags", 0}, {"psn", entry.at("psn")}, {"missing", Json::array()}};
      report_["flags"] = report_["flags"].get<int>() | entry.at("flags").get<int>();
      for (const Json& range : entry.at("missing")) report_["missing"].push_back(range);
    }
  }

  test::MbufPool pool_{8191, 512};
  Counters counters_;
  Duration round_trip_;
  int room_;
  flow::KeyIndex::Key key_ = request_key();
  AnswerCopies copies_;
  FarPart far_;
  Name name_{1, 7};
  Time now_ = kStart;
  std::map<std::string, std::string> packets_;
  std::vector<std::string> handed_;
  std::uint32_t repeats_ = 0;
  Json report_;
  bool clocked_ = false;
};

/// The copies of one flow's answers.
class Copies final : public CopiesOutlet {
 public:
  explicit Copies(const Json& scenario) : copies_(4, 1000, counters_, *this) {
    copies_.set_round_trip(kPeer, scenario.at("round_trip").get<Duration>());
    copies_.begin(0, kPeer, BindEntry::of(name_, request_key(), kRequesterQpn, 100, kMtu));
    // The scenarios are of a link that loses little: each repair goes in one copy.
    now_ = kStart - milliseconds(1);
    for (std::uint32_t psn = 0; psn < 5000; ++psn) answer(false, psn, "before");
    copies_.poll(now_ + microseconds(500));
    copies_.end(0);
    copies_.begin(0, kPeer, BindEntry::of(name_, request_key(), kRequesterQpn, 100, kMtu));
  }

  void take(const Json& step) {
    now_ = kStart + step.at("at").get<Time>();
    if (polls_) copies_.poll(now_);
    again_.clear();
    const std::string kind = step.at("kind");
    if (kind == "response" || kind == "ack") {
      answer(kind == "ack", step.at("psn"), step.at("packet"));
    } else if (kind == "state") {
      state(step);
    } else if (kind == "end") {
      copies_.end(0);
    } else {
      FAIL("unknown step " + kind);
    }
    if (polls_) copies_.poll(now_);
  }
  /// Time passes unnoticed from here on.
  void dont_poll() { polls_ = false; }
  const std::multiset<std::string>& again() const { return again_; }
  const std::multiset<std::string>& kept() const { return kept_; }
  unsigned used() const { return pool_.used(); }

 private:
  void answer(bool ack, std::uint32_t psn, const std::string& packet) {
    wire::PacketBuilder builder;
    builder.ips(request_key().second, request_key().first).qpn(kRequesterQpn).psn(psn);
    if (ack)
      builder.opcode(wire::kRcAcknowledge).aeth(0x1f, msn_++);
    else
      builder.opcode(wire::kRcReadResponseMiddle).payload(std::vector<std::uint8_t>(packet.begin(), packet.end()));
    rte_mbuf* mbuf = pool_.make(builder.build());
    const wire::Frame frame = frame_in(mbuf);
    packets_[frame_key(mbuf)] = packet;
    if (const std::uint32_t number = copies_.find(flow::key_of(frame)); number != AnswerCopies::kNone)
      copies_.answer(number, frame, mbuf, now_);
    rte_pktmbuf_free(mbuf);
  }

  // As it is on the wire: a list may have several entries.
  void state(const Json& step) {
    const std::uint64_t echo = step.at("echo");
    StateWriter writer({echo == 0 ? 0 : kStart + echo, 0});
    const auto send = [this](Bytes body) { copies_.state(kPeer, body, now_); };
    writer.begin(name_, step.at("flags"), step.at("psn"), send);
    for (const Json& range : step.at("missing")) writer.missing({range[0], range[1]}, send);
    writer.finish(send);
  }

  bool wan_takes() override { return true; }
  void send_to_wan(rte_mbuf* mbuf) override {
    again_.insert(packets_.at(frame_key(mbuf)));
    rte_pktmbuf_free(mbuf);
  }
  rte_mbuf* made_frame(std::uint16_t bytes) override { return pool_.make(std::vector<std::uint8_t>(bytes)); }
  bool hold(const rte_mbuf* mbuf) override {
    kept_.insert(packets_.at(frame_key(mbuf)));
    return true;
  }
  void let_go(const rte_mbuf* mbuf) override { kept_.erase(kept_.find(packets_.at(frame_key(mbuf)))); }
  void send(Speaker to, Type type, Bytes) override {
    CHECK(to == kPeer);
    CHECK(type == Type::answer_clock);
  }

  test::MbufPool pool_{1023, 512};
  Counters counters_;
  Name name_{1, 7};
  Time now_ = kStart;
  std::uint32_t msn_ = 1;
  std::map<std::string, std::string> packets_;
  std::multiset<std::string> kept_;
  std::multiset<std::string> again_;
  bool polls_ = true;
  AnswerCopies copies_;
};

}  // namespace

TEST_CASE("bodies are read as another implementation reads them", "[relay]") {
  const Json all = read("repeat-bodies.json").at("bodies");
  REQUIRE(all.size() > 80);
  for (const Json& body : all) {
    CAPTURE(body.at("name").get<std::string>());
    if (body.at("decoded").is_null()) continue;  // shorter than a head
    const auto bytes = bytes_in(body.at("body"));
    Json expected = body.at("decoded").at("entries");
    for (Json& entry : expected) entry.erase("ranges");
    CHECK(entries_of(bytes, body.at("type")) == expected);
  }
}

TEST_CASE("a far box orders, reports and gives up as another implementation does", "[relay]") {
  const Json all = read("repeat-scenarios.json").at("order");
  REQUIRE(all.size() > 40);
  for (const Json& given : all) {
    CAPTURE(given.at("name").get<std::string>());
    Scenario scenario(given);
    for (const Json& step : given.at("steps")) {
      CAPTURE(step.dump());
      scenario.take(step);
      const Json& after = step.at("after");
      CHECK(Json(scenario.handed()) == after.at("handed"));
      CHECK(scenario.ordering() == (after.at("state") == "ordering"));
      if (after.contains("held")) CHECK(scenario.held() == after.at("held").size());
      if (after.contains("held_count")) CHECK(scenario.held() == after.at("held_count"));
      if (after.contains("report")) {
        if (scenario.counts_reports()) CHECK(scenario.report() == after.at("report"));
        if (!scenario.report().is_null()) {
          CHECK(scenario.report().at("psn") == after.at("report").at("psn"));
          CHECK(scenario.report().at("missing") == after.at("report").at("missing"));
        }
        CHECK(scenario.repeats() == after.at("repeats"));
      }
    }
    scenario.discard();
    CHECK(scenario.used() == 0);
  }
}

TEST_CASE("a far box keeps and sends again what another implementation does", "[relay]") {
  const Json all = read("repeat-scenarios.json").at("answers");
  REQUIRE(all.size() > 40);
  for (const Json& given : all) {
    CAPTURE(given.at("name").get<std::string>());
    Copies copies(given);
    for (const Json& step : given.at("steps")) {
      CAPTURE(step.dump());
      copies.take(step);
      const Json& after = step.at("after");
      CHECK(copies.again() == after.at("sent_again").get<std::multiset<std::string>>());
      CHECK(copies.kept() == after.at("kept").get<std::multiset<std::string>>());
    }
  }
}

TEST_CASE("what is old is not sent again, though something younger is before it", "[relay]") {
  Copies copies(Json{{"round_trip", 10'000'000}});
  const auto response = [](Time at, std::uint32_t psn, const char* packet) {
    return Json{{"at", at}, {"kind", "response"}, {"psn", psn}, {"packet", packet}};
  };
  const auto missing = [](Time at) {
    return Json{{"at", at}, {"kind", "state"}, {"echo", at}, {"flags", 16}, {"psn", 100}, {"missing", {{100, 2}}}};
  };
  copies.take(response(1'000'000, 100, "first"));
  copies.take(response(1'000'000, 101, "second"));
  copies.take(response(25'000'000, 100, "first again"));
  copies.take(missing(35'900'000));
  CHECK(copies.again() == std::multiset<std::string>{"first again", "second"});
  copies.dont_poll();
  copies.take(missing(59'000'000));
  CHECK(copies.again() == std::multiset<std::string>{"first again"});
}

TEST_CASE("what is said of a binding counts in its order", "[relay]") {
  Scenario scenario({{"round_trip", 10'000'000}, {"psn", 100}});
  const auto behind_gap = [](Time at) {
    return Json{{"at", at}, {"do", "arrive"}, {"psn", 102}, {"span", 1}, {"packet", "a"}};
  };
  scenario.take(behind_gap(0));
  CHECK(scenario.held() == 1);
  // A newer binding ends with it, whether its BIND has come or not; and that BIND may still come.
  scenario.unbind_newer(5);
  CHECK(!scenario.ordering());
  CHECK(scenario.held() == 0);
  scenario.take({{"at", 1000}, {"do", "bind"}, {"psn", 100}, {"newer", 4}});
  CHECK(!scenario.ordering());
  scenario.take({{"at", 2000}, {"do", "bind"}, {"psn", 100}, {"newer", 6}});
  CHECK(scenario.ordering());
}

TEST_CASE("as many copies as the loss rate demands", "[relay]") {
  const Json scenarios = read("repeat-scenarios.json");
  for (const Json& given : scenarios.at("copies")) {
    CAPTURE(given.dump());
    constexpr std::uint64_t kMany = 1'000'000'000;
    LossRate loss;
    const auto lost = static_cast<std::uint64_t>(given.at("part").get<double>() * kMany + 0.5);
    loss.look({.covered = kMany}, lost, given.at("packets"), milliseconds(1), seconds(1));
    CHECK(loss.copies() == given.at("copies"));
  }
}

TEST_CASE("the window follows needless repairs", "[relay]") {
  const Json scenarios = read("repeat-scenarios.json");
  for (const Json& given : scenarios.at("window")) {
    CAPTURE(given.at("name").get<std::string>());
    const Duration round_trip = given.at("round_trip");
    LossRate loss;
    Time now = seconds(1);
    LossRate::Counts counts;
    const auto round = [&](std::uint64_t repairs, std::uint32_t needless) {
      counts.repairs += repairs;
      counts.repeats += needless;
      counts.covered += 1000;
      loss.look(counts, 0, 1000, round_trip, now);
      now += round_trip;
    };
    round(0, 0);
    // What comes again in a round was sent again in the one before.
    std::uint32_t came_again = 0;
    bool first = true;
    Duration expected = LossRate::kLeastWindow;
    for (const Json& step : given.at("rounds")) {
      round(step.at("repairs"), came_again);
      if (!first) CHECK(loss.window() == expected);
      first = false;
      came_again = step.at("needless");
      expected = step.at("window");
    }
    round(0, came_again);
    CHECK(loss.window() == expected);
  }
}
