// SPDX-License-Identifier: BSD-3-Clause
// The far host's side of a far box: what another implementation (test/peer/far_host.py) made from
// docs/peer-protocol.md, section 11, alone; and what that page leaves to this one.
#include <rte_mbuf.h>

#include <catch2/catch.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../support/mbufs.hpp"
#include "flow/connection_key.hpp"
#include "one_flow.hpp"
#include "relay/answer_copies.hpp"
#include "relay/far_part.hpp"
#include "wire/builder.hpp"
#include "wire/opcode.hpp"

using namespace longhaul;
using namespace longhaul::relay;
using namespace longhaul::test;
using Json = nlohmann::json;

namespace {

/// One far box, one flow, and its host.
class FarHost final : public FarOutlet, public CopiesOutlet {
 public:
  explicit FarHost(const Json& given)
      : room_(given.value("room", 3000)),
        copies_(4, 0, counters_, *this),
        far_(4, 2 * static_cast<std::uint64_t>(room_), copies_, counters_, *this) {
    far_.set_round_trip(kPeer, given.at("round_trip"));
    Body body;
    body.add(BindEntry::of(name_, key_, kRequesterQpn, given.at("psn"), kMtu));
    far_.bind(kPeer, body.bytes(), now_);
  }
  ~FarHost() override {
    far_.discard();
    CHECK(pool_.used() == 0);
    CHECK(lent_ == 0);
  }

  void take(const Json& step) {
    now_ = kStart + step.at("at").get<Time>();
    handed_.clear();
    passed_ = nullptr;
    const std::string what = step.at("do");
    if (what == "arrive") {
      arrive(step.at("psn"), step.at("span"), step.at("packet"), step.at("asks") != 0, step.at("ends") != 0);
    } else if (what == "answer") {
      answer(step.at("kind"), step.at("psn"), step.at("msn"));
    } else if (what == "unbind") {
      Body body;
      body.add(UnbindEntry{name_, step.at("keep").get<std::uint8_t>()});
      far_.unbind(kPeer, body.bytes(), now_);
    } else if (what != "tick") {
      FAIL("unknown step " + what);
    }
    // As a box does: nothing is called before it is due, and nothing that is due is left.
    for (int i = 0; i < 100 && far_.deadline() <= now_; ++i) far_.poll(now_, now_);
    CHECK((port_full_ || far_.deadline() > now_));
  }

  void arrive(std::uint32_t psn, std::uint32_t span, const std::string& packet, bool asks, bool ends) {
    wire::PacketBuilder builder;
    builder.ips(key_.first, key_.second).qpn(kQpn).psn(psn).ack_req(asks);
    if (span > 1) {
      builder.opcode(wire::kRcReadRequest).reth(0x1000, 5, span * kMtu);
    } else {
      std::vector<std::uint8_t> payload(packet.begin(), packet.end());
      payload.resize(kMtu);
      builder.opcode(ends ? wire::kRcSendOnly : wire::kRcWriteMiddle).payload(payload);
    }
    rte_mbuf* mbuf = pool_.make(builder.build());
    names_[frame_key(mbuf)] = packet;
    give(far_, far_.find(key_), *this, mbuf, now_);
  }

  void answer(const std::string& kind, std::uint32_t psn, std::uint32_t msn) {
    static const std::map<std::string, std::uint8_t> kSyndromes = {
        {"ack", 0x1f}, {"psn_nak", 0x60}, {"rnr_nak", 0x21}, {"other_nak", 0x62}, {"response", 0x1f}};
    wire::PacketBuilder builder;
    builder.ips(key_.second, key_.first).qpn(kRequesterQpn).psn(psn);
    if (kind == "response")
      builder.opcode(wire::kRcReadResponseMiddle).payload(std::vector<std::uint8_t>(kMtu));
    else
      builder.opcode(wire::kRcAcknowledge).aeth(kSyndromes.at(kind), msn);
    rte_mbuf* mbuf = pool_.make(builder.build());
    const wire::Frame frame = frame_in(mbuf);
    const std::uint32_t flow = copies_.find(flow::key_of(frame));
    passed_ = flow != AnswerCopies::kNone && far_.answer(flow, frame, now_) ? 0 : 1;
    rte_pktmbuf_free(mbuf);
  }

  const std::vector<std::string>& handed() const { return handed_; }
  const Json& passed() const { return passed_; }
  std::uint64_t waiting() const { return far_.held(); }
  /// Custody's buffers that it has.
  std::uint64_t kept() const { return lent_ - far_.held(); }
  void fill_port(bool full) { port_full_ = full; }

  bool host_takes() override { return !port_full_; }
  void hand_on(rte_mbuf* mbuf) override {
    handed_.push_back(names_.at(frame_key(mbuf)));
    rte_pktmbuf_free(mbuf);
  }
  void send_to_host(rte_mbuf* mbuf) override { hand_on(mbuf); }
  bool hold(const rte_mbuf* mbuf) override { return ++lent_, true; }
  void let_go(const rte_mbuf* mbuf) override { --lent_; }
  bool wan_takes() override { return true; }
  void send_to_wan(rte_mbuf* mbuf) override { rte_pktmbuf_free(mbuf); }
  rte_mbuf* made_frame(std::uint16_t) override { return nullptr; }
  void send(Speaker, Type, Bytes) override {}

 private:
  test::MbufPool pool_{8191, 1536};
  Counters counters_;
  int room_;
  Time now_ = kStart;
  flow::KeyIndex::Key key_ = request_key();
  Name name_{1, 7};
  std::uint64_t lent_ = 0;
  bool port_full_ = false;
  std::vector<std::string> handed_;
  Json passed_;
  std::map<std::string, std::string> names_;
  AnswerCopies copies_;
  FarPart far_;
};

}  // namespace

TEST_CASE("a far box mends what its host lost as another implementation does", "[relay]") {
  const Json all = read("repeat-scenarios.json").at("host");
  REQUIRE(all.size() > 100);
  for (const Json& given : all) {
    CAPTURE(given.at("name").get<std::string>());
    FarHost host(given);
    for (const Json& step : given.at("steps")) {
      CAPTURE(step.dump());
      host.take(step);
      const Json& after = step.at("after");
      CHECK(Json(host.handed()) == after.at("handed"));
      if (after.contains("passed")) CHECK(host.passed() == after.at("passed"));
      CHECK(host.kept() == after.at("kept").size());
      CHECK(host.waiting() == after.at("waiting").size());
    }
  }
}

namespace {

constexpr Time kAt = 1000;  // ns between two steps

Json arrive(Time at, std::uint32_t psn) {
  return {{"at", at},  {"do", "arrive"}, {"psn", psn}, {"span", 1}, {"packet", std::to_string(psn)},
          {"asks", 1}, {"ends", 1}};
}
Json answer(Time at, const char* kind, std::uint32_t psn, std::uint32_t msn) {
  return {{"at", at}, {"do", "answer"}, {"kind", kind}, {"psn", psn}, {"msn", msn}};
}
Json tick(Time at) { return {{"at", at}, {"do", "tick"}}; }

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("what goes again waits for the host's port, and nothing newer overtakes it", "[relay]") {
  FarHost host({{"psn", 100}, {"round_trip", 10'000'000}});
  for (std::uint32_t psn = 100; psn < 104; ++psn) host.take(arrive(kAt, psn));
  host.take(answer(2 * kAt, "ack", 100, 1));
  host.fill_port(true);
  host.take(answer(3 * kAt, "psn_nak", 101, 1));
  CHECK(host.passed() == 0);
  CHECK(host.handed().empty());
  host.take(arrive(4 * kAt, 104));
  CHECK(host.handed().empty());
  CHECK(host.waiting() == 1);
  host.fill_port(false);
  host.take(tick(5 * kAt));
  CHECK(host.handed() == Names{"101", "102", "103", "104"});
  CHECK(host.waiting() == 0);
}

TEST_CASE("a host that asks without end has a few copies sent again for each request", "[relay]") {
  FarHost host({{"psn", 100}, {"round_trip", 10'000'000}});
  constexpr std::uint32_t kUnderWay = 100;
  std::uint32_t next = 100;
  for (; next < 100 + kUnderWay; ++next) host.take(arrive(kAt, next));
  host.take(answer(2 * kAt, "ack", 100, 1));
  std::size_t again = 0;
  std::uint32_t round = 0;
  // It accepts one request, and asks for the next.
  for (; round < 2000; ++round, ++next) {
    const Time at = (3 + 3 * round) * kAt;
    host.take(arrive(at, next));
    host.take(answer(at + kAt, "psn_nak", 102 + round, 2 + round));
    again += host.handed().size();
  }
  CHECK(again > 4096);
  CHECK(again < 4096 + kUnderWay + 3 * round);
}

TEST_CASE("copies are what custody has to spare", "[relay]") {
  FarHost host({{"psn", 100}, {"round_trip", 10'000'000}, {"room", 3}});
  host.take(arrive(kAt, 100));
  host.take(answer(2 * kAt, "ack", 100, 1));
  for (std::uint32_t psn = 101; psn < 110; ++psn) host.take(arrive(2 * kAt, psn));
  CHECK(host.kept() == 3);
  // There is no copy of this one.
  host.take(answer(3 * kAt, "psn_nak", 105, 5));
  CHECK(host.passed() == 1);
  host.take(answer(4 * kAt, "psn_nak", 107, 7));
  CHECK(host.passed() == 0);
  CHECK(host.handed() == Names{"107", "108", "109"});
}
