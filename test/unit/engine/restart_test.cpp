// SPDX-License-Identifier: BSD-3-Clause
// Design section 6, "Restart", and rule 6: what a killed process owed fails when the next process starts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/rig.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::test;
using custody::RecordSlot;
using State = custody::RecordSlot::State;

namespace {

struct Told final : custody::Observer {
  void on_found_in_record(const custody::FlowIdentity& flow, std::uint64_t bytes) override {
    found.push_back(std::to_string(flow.requester_qpn) + " " + std::to_string(flow.responder_qpn) + " " +
                    std::to_string(bytes));
  }
  void on_closed_untold(const custody::FlowIdentity&, std::uint64_t bytes, Time) override { untold += bytes; }
  Lines found;
  std::uint64_t untold = 0;
};

using Record = std::vector<RecordSlot>;

Record make_record() { return Record(small_settings().max_connections); }

std::size_t in_state(const Record& record, State state) {
  std::size_t count = 0;
  for (const RecordSlot& slot : record) count += slot.state() == state;
  return count;
}

std::uint64_t owed(const Record& record) {
  std::uint64_t bytes = 0;
  for (const RecordSlot& slot : record)
    if (slot.state() == State::owing) bytes += slot.owed_bytes();
  return bytes;
}

/// A box's process. Its end is as abrupt as with SIGKILL.
struct Process {
  explicit Process(Record& record, const engine::Settings& settings = small_settings()) : rig(settings, &told) {
    rig.engine->use_record(record, rig.now);
  }
  Told told;
  Rig rig;
};

/// Leaves `writes` of 64 bytes acknowledged and unanswered, from PSN 101 and MSN 2 on.
void die_owing(Record& record, const Pair& pair, unsigned writes = 2) {
  Process box(record);
  box.rig.connect_confirmed(pair);
  for (unsigned i = 0; i < writes; ++i) box.rig.host_sends(pair.write(101 + i));
  REQUIRE(box.rig.count(Counter::pseudo_acks) == writes);
}

}  // namespace

TEST_CASE("h and the bytes are on record when the pseudo-ACK leaves", "[engine][restart]") {
  Record record = make_record();
  Process box(record);
  const Pair pair;
  box.rig.connect_confirmed(pair);
  CHECK(owed(record) == 0);
  unsigned acks = 0;
  box.rig.on_accepted = [&](Side side, const Seen& seen) {
    if (side != Side::host) return;
    ++acks;
    CHECK(in_state(record, State::owing) == 1);
    CHECK(record[0].promised().h == seen.psn + 1);
    CHECK(record[0].promised().msn_h == seen.msn);
    CHECK(owed(record) == (seen.psn - 100) * pair.write(0).size());
  };
  box.rig.host_sends(pair.write(101));
  box.rig.host_sends(pair.write(102));
  box.rig.host_sends({pair.silent_write(103), pair.write(104)});
  CHECK(acks == 3);
}

TEST_CASE("a gap's PSN NAK is a promise too", "[engine][restart]") {
  Record record = make_record();
  Process box(record);
  const Pair pair;
  box.rig.connect_confirmed(pair);
  box.rig.on_accepted = [&](Side side, const Seen&) {
    if (side == Side::host) CHECK(owed(record) == 2 * pair.write(0).size());
  };
  box.rig.host_sends({pair.silent_write(101), pair.silent_write(102), pair.write(104)});
  CHECK(box.rig.at_host() == Lines{"nak0 103 msn 3"});
  CHECK(record[0].promised().h == 103);
  CHECK(record[0].promised().msn_h == 3);
}

TEST_CASE("the responder's answers empty the record", "[engine][restart]") {
  Record record = make_record();
  Process box(record);
  const Pair pair;
  box.rig.connect_confirmed(pair);
  box.rig.host_sends({pair.write(101), pair.write(102)});
  box.rig.wan_sends(pair.ack(101, 2));
  CHECK(owed(record) == pair.write(102).size());
  box.rig.wan_sends(pair.ack(102, 3));
  CHECK(owed(record) == 0);
  CHECK(in_state(record, State::settled) == 1);
}

TEST_CASE("nothing owed, nothing found: a drained box leaves an empty record", "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  {
    Process box(record);
    box.rig.connect_confirmed(pair);
    box.rig.host_sends(pair.write(101));
    box.rig.engine->set_draining(true);
    box.rig.wan_sends(pair.ack(101, 2));
  }
  Process next(record);
  CHECK(next.told.found.empty());
  CHECK(next.rig.count(Counter::flows_failed_by_restart) == 0);
  CHECK(in_state(record, State::empty) == record.size());
  next.rig.host_sends(pair.write(102));
  CHECK(next.rig.at_wan() == Lines{"write_only 102!"});
  CHECK(next.rig.at_host().empty());
}

TEST_CASE("killed while it owed: both ends and the bytes are told, the next request gets the fatal NAK",
          "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  const std::uint64_t bytes = 2 * pair.write(0).size();

  Process next(record);
  CHECK(next.told.found == Lines{"17 34 " + std::to_string(bytes)});
  CHECK(next.rig.count(Counter::flows_failed_by_restart) == 1);
  CHECK(next.rig.count(Counter::failed_by_restart_bytes) == bytes);
  CHECK(next.rig.at_host().empty());  // an idle requester would ignore it

  next.rig.host_sends(pair.write(103));
  CHECK(next.rig.at_wan().empty());
  REQUIRE(next.rig.host_out.size() == 1);
  Bytes like_the_responders = pair.nak(103, 3, 3);
  like_the_responders.resize(std::max<std::size_t>(like_the_responders.size(), 60));
  CHECK(next.rig.host_out[0].bytes == like_the_responders);
  CHECK(next.rig.at_host() == Lines{"nak3 103 msn 3"});
  // If the NAK is lost on the way, the requester asks again.
  next.rig.host_sends({pair.write(103), pair.write(104)});
  CHECK(next.rig.at_host() == Lines{"nak3 103 msn 3"});
  // Late answers of the responder pass to the requester.
  next.rig.wan_sends(pair.ack(102, 3));
  CHECK(next.rig.at_host() == Lines{"ack 102 msn 3"});
}

TEST_CASE("a failed flow follows what the responder itself acknowledges of what its requester has sent",
          "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  Process next(record);
  // While no box was there, 103 to 105 passed and were received.
  next.rig.host_sends(pair.write(106));
  CHECK(next.rig.at_host() == Lines{"nak3 103 msn 3"});
  next.rig.wan_sends(pair.ack(105, 6));
  CHECK(next.rig.at_host() == Lines{"ack 105 msn 6"});
  next.rig.host_sends(pair.write(106));
  CHECK(next.rig.at_host() == Lines{"nak3 106 msn 6"});

  // The requester ignores this ACK now, but would believe it after sending 140 itself.
  next.rig.wan_sends(pair.ack(140, 9));
  CHECK(next.rig.at_host() == Lines{"ack 140 msn 9"});
  next.rig.host_sends({pair.write(107), pair.write(141)});
  CHECK(next.rig.at_host() == Lines{"nak3 106 msn 6"});
}

TEST_CASE("the fatal NAK of a flow on record is made like the request that it answers: one before may be forged",
          "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  Process next(record);
  Bytes forged = pair.write(103);
  wire::Frame frame;
  REQUIRE(wire::parse(forged, frame) == wire::ParseStatus::roce);
  forged[frame.bth_offset + 3] ^= 1;  // its P_Key
  REQUIRE(wire::refresh_icrc(forged));
  next.rig.host_sends(forged);
  next.rig.host_sends(pair.write(103));
  REQUIRE(next.rig.host_out.size() == 2);
  CHECK(next.rig.host_out[1].p_key == Seen(pair.nak(103, 3, 3)).p_key);
}

TEST_CASE("killed twice: it is still failed", "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  { const Process second(record); }
  Process third(record);
  CHECK(third.told.found.size() == 1);
  third.rig.host_sends(pair.write(103));
  CHECK(third.rig.at_host() == Lines{"nak3 103 msn 3"});
}

TEST_CASE("a flow that had failed before the box died is still failed, with the bytes it had lost",
          "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  {
    Process box(record);
    box.rig.connect_confirmed(pair);
    box.rig.host_sends({pair.write(101), pair.write(102), pair.write(103)});
    box.rig.wan_sends(pair.nak(102, 2, 2));
    REQUIRE(box.rig.count(Counter::flows_failed) == 1);
    CHECK(owed(record) == box.rig.count(Counter::failed_bytes));
  }
  Process next(record);
  CHECK(next.rig.count(Counter::failed_by_restart_bytes) == 2 * pair.write(0).size());
  next.rig.host_sends(pair.write(104));
  CHECK(next.rig.at_host() == Lines{"nak3 104 msn 4"});
}

TEST_CASE("PSN and MSN near 2^24 come back from the record", "[engine][restart]") {
  Record record = make_record();
  Pair pair;
  pair.a_psn = 0xfffffd;
  {
    Process box(record);
    box.rig.connect_confirmed(pair);
    box.rig.host_sends({pair.write(0xfffffe), pair.write(0xffffff)});
  }
  Process next(record);
  next.rig.host_sends(pair.write(0));
  CHECK(next.rig.at_host() == Lines{"nak3 0 msn 3"});
}

TEST_CASE("each connection of the record by its own key: addresses, VLAN, QPNs", "[engine][restart]") {
  Record record = make_record();
  std::vector<Pair> pairs(5);
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    pairs[i].a_qpn += i;
    pairs[i].b_qpn += i;
    pairs[i].a_comm += i;
    pairs[i].transaction += i;
  }
  pairs[2].vlan = 7;
  pairs[3].a_ip = "fd00::1", pairs[3].b_ip = "fd00::2";
  {
    Process box(record);
    for (const Pair& pair : pairs) box.rig.connect_confirmed(pair);
    // The last flow owes nothing.
    for (std::size_t i = 0; i + 1 < pairs.size(); ++i) box.rig.host_sends(pairs[i].write(101));
  }
  Process next(record);
  CHECK(next.told.found.size() == 4);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    next.rig.host_sends(pairs[i].write(102));
    CHECK(next.rig.at_host() == (i < 4 ? Lines{"nak3 102 msn 2"} : Lines{}));
    CHECK(next.rig.at_wan() == (i < 4 ? Lines{} : Lines{"write_only 102!"}));
  }
}

TEST_CASE("a policy that is off now fails the flow all the same, and damaged frames change nothing",
          "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  auto settings = small_settings();
  settings.policies.fallback = flow::Policy::off;
  Process next(record, settings);
  next.rig.host_sends(damaged(pair.write(103)));
  CHECK(next.rig.at_host().empty());
  next.rig.host_sends(pair.write(103));
  CHECK(next.rig.at_host() == Lines{"nak3 103 msn 3"});
}

TEST_CASE("an idle requester closes: DREQ and DREP pass, and that it closed over lost data is said",
          "[engine][restart]") {
  Record record = make_record();
  Pair pair;
  pair.active = GENERATE(Side::host, Side::wan);
  die_owing(record, pair);
  const std::uint64_t bytes = 2 * pair.write(0).size();
  SECTION("the host's DREQ") {
    Process next(record);
    next.rig.host_sends(pair.dreq(Side::host));
    CHECK(next.rig.at_wan() == Lines{"dreq"});
    CHECK(owed(record) == bytes);
    next.rig.wan_sends(pair.drep(Side::wan));
    CHECK(next.rig.at_host() == Lines{"drep"});
    CHECK(next.told.untold == bytes);
    CHECK(next.rig.count(Counter::closed_untold_bytes) == bytes);
    CHECK(in_state(record, State::empty) == record.size());
    CHECK(next.rig.count(Counter::cm_unmatched) == 0);
  }
  SECTION("the host's DREQ, never answered") {
    Process next(record);
    next.rig.host_sends(pair.dreq(Side::host));
    next.rig.wait(seconds(61));
    CHECK(next.told.untold == bytes);
    CHECK(in_state(record, State::empty) == record.size());
  }
  SECTION("the WAN's DREQ") {
    Process next(record);
    next.rig.wan_sends(pair.dreq(Side::wan));
    CHECK(next.rig.at_host() == Lines{"dreq"});
    CHECK(next.told.untold == bytes);
    CHECK(in_state(record, State::empty) == record.size());
  }
  SECTION("one that was told") {
    Process next(record);
    next.rig.host_sends(pair.write(103));
    next.rig.host_sends(pair.dreq(Side::host));
    next.rig.wan_sends(pair.drep(Side::wan));
    CHECK(next.rig.at_wan() == Lines{"dreq"});
    CHECK(next.told.untold == 0);
    CHECK(in_state(record, State::empty) == record.size());
  }
  SECTION("a DREQ that only guesses") {
    Process next(record);
    Pair forged = pair;
    forged.b_comm = 0xdead;
    next.rig.wan_sends(forged.dreq(Side::wan));
    CHECK(next.told.untold == 0);
    CHECK(owed(record) == bytes);
  }
}

TEST_CASE("a requester that was told is forgotten after a while, one that was not is not", "[engine][restart]") {
  Record record = make_record();
  Pair idle;
  Pair busy;
  busy.a_qpn = 0x13, busy.b_qpn = 0x24, busy.a_comm = 0xa2, busy.transaction = 0x78;
  {
    Process box(record);
    for (const Pair& pair : {idle, busy}) {
      box.rig.connect_confirmed(pair);
      box.rig.host_sends(pair.write(101));
    }
  }
  Process next(record);
  next.rig.host_sends(busy.write(102));
  next.rig.wait(seconds(3600));
  CHECK(next.rig.engine->next_deadline() == kNever);
  CHECK(in_state(record, State::owing) == 1);
  next.rig.host_out.clear();
  next.rig.host_sends(idle.write(102));
  CHECK(next.rig.at_host() == Lines{"nak3 102 msn 2"});
}

TEST_CASE("a healthy connection is not mistaken for the failed one", "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  Pair again = pair;
  again.a_comm = 0xa9, again.b_comm = 0xb9, again.transaction = 0x99;
  SECTION("the requester connects anew with another QPN, to another QP") { again.a_qpn = 0x55, again.b_qpn = 0x66; }
  SECTION("the same requester QPN") { again.b_qpn = 0x66; }
  SECTION("the responder's QPN announced anew") { again.a_qpn = 0x55; }
  SECTION("both QPNs") {}
  again.a_psn = 7000;
  Process next(record);
  next.rig.connect_confirmed(again);
  next.rig.host_sends(again.write(7001));
  CHECK(next.rig.at_wan() == Lines{"write_only 7001!"});
  CHECK(next.rig.at_host() == Lines{"ack 7001 msn 2"});
  CHECK(next.rig.count(Counter::fatal_naks) == 0);
  CHECK(in_state(record, State::owing) >= 1);
}

TEST_CASE("a QPN used again without RDMA-CM: PSNs far away pass", "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  Process next(record);
  next.rig.host_sends(pair.write(5'000'000));
  CHECK(next.rig.at_wan() == Lines{"write_only 5000000!"});
  CHECK(next.rig.at_host().empty());
}

TEST_CASE("a table full of failed flows gives way to the living", "[engine][restart]") {
  Record record = make_record();
  auto numbered = [](std::uint32_t i) {
    Pair pair;
    pair.a_qpn = 0x100 + i, pair.b_qpn = 0x200 + i, pair.a_comm = 0x300 + i, pair.b_comm = 0x400 + i;
    pair.transaction = 0x500 + i;
    return pair;
  };
  {
    Process box(record);
    for (std::uint32_t i = 0; i < record.size(); ++i) {
      box.rig.connect_confirmed(numbered(i));
      box.rig.host_sends(numbered(i).write(101));
    }
  }
  Process next(record);
  CHECK(next.rig.count(Counter::flows_failed_by_restart) == record.size());
  next.rig.connect(numbered(99));
  CHECK(next.rig.count(Counter::connection_table_full) == 1);
  next.rig.wait(seconds(601));
  next.rig.connect_confirmed(numbered(100));
  CHECK(next.rig.count(Counter::connections_learned) == 1);
  CHECK(next.told.untold == numbered(0).write(0).size());
}

TEST_CASE("damaged slots, and two for one connection: counted, passed over", "[engine][restart]") {
  Record record = make_record();
  const Pair pair;
  die_owing(record, pair);
  constexpr std::size_t kSlot = sizeof(RecordSlot);
  auto* bytes = reinterpret_cast<std::uint8_t*>(record.data());
  for (const std::size_t to : {3, 5})
    for (std::size_t i = 0; i < kSlot; ++i) bytes[to * kSlot + i] = bytes[i];
  bytes[5 * kSlot + 100] ^= 1;
  std::mt19937 random(1);
  for (std::size_t i = 7 * kSlot; i < record.size() * kSlot; ++i) bytes[i] = static_cast<std::uint8_t>(random());
  Process next(record);
  CHECK(next.rig.count(Counter::flows_failed_by_restart) == 1);
  CHECK(next.rig.count(Counter::record_slots_damaged) == 11);
  CHECK(in_state(record, State::damaged) == 0);
  next.rig.host_sends(pair.write(103));
  CHECK(next.rig.at_host() == Lines{"nak3 103 msn 3"});
}

TEST_CASE("too small a record is refused", "[engine][restart]") {
  Rig rig;
  Record record(small_settings().max_connections - 1);
  CHECK_THROWS_WITH(rig.engine->use_record(record, rig.now), Catch::Contains("15 slots for 16 connections"));
}

namespace {

/// The test's own account of a flow: what was acknowledged, received and accepted.
struct Ledger {
  explicit Ledger(const Pair& given)
      : pair(given), next(given.a_psn + 1), acknowledged(next), received(next), accepted(next) {}
  std::uint64_t owed() const {
    std::uint64_t sum = 0;
    for (std::uint32_t psn = accepted; psn < acknowledged; ++psn) sum += bytes.at(psn);
    return sum;
  }
  Pair pair;
  std::uint32_t next;          ///< next PSN to send
  std::uint32_t acknowledged;  ///< first PSN the requester has not seen acknowledged
  std::uint32_t received;      ///< first PSN that has not reached the responder in sequence
  std::uint32_t accepted;      ///< first PSN the responder's answers have not covered
  std::map<std::uint32_t, std::uint64_t> bytes;
  std::map<std::uint32_t, std::size_t> payload;
};

void note_request(Ledger& flow, const Seen& seen) {
  if (seen.roce && seen.qpn == flow.pair.b_qpn && seen.psn == flow.received) ++flow.received;
}

void note_answer(Ledger& flow, const Seen& seen) {
  if (!seen.roce || seen.opcode != 0x11 || seen.qpn != flow.pair.a_qpn) return;
  const std::uint32_t kind = seen.syndrome >> 5;
  flow.acknowledged = std::max(flow.acknowledged, kind == 0 ? seen.psn + 1 : seen.psn);
}

}  // namespace

TEST_CASE("at random: whenever the process is killed, the record says at least what was acknowledged and not accepted",
          "[engine][restart][random]") {
  std::uint64_t kills = 0;
  std::uint64_t failures = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) {
      return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
    };
    auto settings = small_settings();
    if (below(3) == 0) settings.custody_flow_bytes = 2000 + below(4000);
    if (below(3) == 0) settings.initial_window_bytes = 500 + below(3000);
    Record record = make_record();
    Told told;
    Rig rig(settings, &told);
    rig.engine->use_record(record, rig.now);
    std::vector<Ledger> flows;
    for (std::uint32_t i = 0; i < 2; ++i) {
      Pair pair;
      pair.a_qpn += i, pair.b_qpn += i, pair.a_comm += i, pair.transaction += i;
      rig.connect_confirmed(pair);
      flows.emplace_back(pair);
    }
    const auto promised = [&] {
      for (std::size_t i = 0; i < flows.size(); ++i) {
        // Here the slots are in the order of the connections.
        if (record[i].owed_bytes() < flows[i].owed())
          FAIL("flow " << i << ": on record " << record[i].owed_bytes() << ", owed " << flows[i].owed());
      }
    };
    rig.on_accepted = [&](Side side, const Seen& seen) {
      for (Ledger& flow : flows) side == Side::host ? note_answer(flow, seen) : note_request(flow, seen);
      promised();
    };
    for (unsigned step = 0; step < 150; ++step) {
      Ledger& flow = flows[below(2)];
      const std::uint32_t what = below(20);
      if (what < 10) {
        std::vector<Bytes> burst;
        for (std::uint32_t n = 1 + below(4); n > 0; --n) {
          const bool asks = below(3) != 0;
          const std::size_t size = flow.payload[flow.next] = below(600);
          burst.push_back(flow.pair.request("send_only", flow.next, {asks, size}));
          flow.bytes[flow.next++] = burst.back().size();
        }
        rig.host_sends(burst);
      } else if (what < 15 && flow.accepted < flow.received) {
        const std::uint32_t upto = flow.accepted + 1 + below(flow.received - flow.accepted);
        // Every message is one packet: the MSN follows the PSN.
        flow.accepted = upto;
        rig.wan_sends(flow.pair.ack(upto - 1, upto - flow.pair.a_psn));
      } else if (what < 16 && flow.accepted < flow.received) {
        rig.wan_sends(flow.pair.nak(flow.accepted, flow.accepted - flow.pair.a_psn));
      } else if (what < 17 && flow.accepted < flow.received) {
        rig.wan_sends(flow.pair.rnr(flow.accepted, flow.accepted - flow.pair.a_psn, 1));
      } else if (what < 18) {
        // A requester's repeat has the same bytes.
        if (flow.next > flow.acknowledged)
          rig.host_sends(flow.pair.request("send_only", flow.acknowledged, {true, flow.payload[flow.acknowledged]}));
      } else {
        rig.wait(microseconds(1 + below(30000)));
      }
      promised();
      if (rig.count(Counter::flows_failed) == 0) CHECK(owed(record) == rig.engine->unconfirmed_bytes());
      if (below(30) != 0) continue;
      // The kill: another process finds exactly these bytes.
      Record left = make_record();
      std::memcpy(static_cast<void*>(left.data()), static_cast<const void*>(record.data()),
                  record.size() * sizeof(RecordSlot));
      Process heir(left, settings);
      ++kills;
      std::uint64_t owing = 0;
      for (const Ledger& one : flows) {
        owing += one.owed();
        heir.rig.host_sends(one.pair.write(one.next));
        if (one.owed() == 0) {
          CHECK(heir.rig.at_host().empty());
          CHECK(heir.rig.at_wan().size() == 1);
          continue;
        }
        ++failures;
        const std::string nak = "nak3 " + std::to_string(one.acknowledged) + " ";
        REQUIRE(heir.rig.host_out.size() == 1);
        CHECK(heir.rig.host_out[0].line().substr(0, nak.size()) == nak);
        CHECK(heir.rig.host_out[0].msn == one.acknowledged - one.pair.a_psn);
        CHECK(heir.rig.at_wan().empty());
        heir.rig.host_out.clear();
      }
      CHECK(heir.rig.count(Counter::failed_by_restart_bytes) >= owing);
    }
  }
  CHECK(kills > 500);
  CHECK(failures > 300);
}
