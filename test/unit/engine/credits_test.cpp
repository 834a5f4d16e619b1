// SPDX-License-Identifier: BSD-3-Clause
// Design section 5: end-to-end credits. Codes and counts: IBTA vol. 1, table 45; 0 to 4 stand for themselves, 5 is 6.
#include <catch2/catch.hpp>

#include "support/rig.hpp"
#include "wire/builder.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

Bytes send(const Pair& pair, std::uint32_t psn) { return pair.request("send_only", psn); }

/// Connected; the responder's ACK of PSN 101 (MSN 2) carried `code`.
void connect_with_credits(Rig& rig, const Pair& pair, std::uint8_t code) {
  rig.connect_confirmed(pair);
  rig.host_sends(send(pair, 101));
  rig.wan_sends(pair.ack(101, 2, code));
  rig.at_host();
  rig.at_wan();
}

}  // namespace

TEST_CASE("a pseudo-ACK carries what the responder's last credits leave", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  connect_with_credits(rig, pair, 5);
  rig.host_sends({send(pair, 102), send(pair, 103)});
  CHECK(rig.at_host() == Lines{"ack-credits4 102 msn 3", "ack-credits4 103 msn 4"});  // 5 is coded as 4
  CHECK(rig.count(Counter::credits_seen) == 1);
}

TEST_CASE("a READ response whose syndrome is no ACK's announces no receives", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  rig.connect_confirmed(pair);
  rig.host_sends(pair.read(101));
  auto response = wire::PacketBuilder().ips(pair.b_ip, pair.a_ip).qpn(pair.a_qpn).opcode(wire::kRcReadResponseOnly);
  rig.wan_sends(response.psn(101).aeth(0x60, 2).payload_size(64).build());  // a PSN NAK's
  rig.at_host();
  rig.host_sends(send(pair, 102));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3"});
}

TEST_CASE("a WRITE uses up no receive, one with immediate does", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  connect_with_credits(rig, pair, 3);
  rig.host_sends({pair.write(102), pair.request("write_only_imm", 103), pair.write(104)});
  CHECK(rig.at_host() == Lines{"ack-credits3 102 msn 3", "ack-credits2 103 msn 4", "ack-credits2 104 msn 5"});
}

TEST_CASE("at zero credits the ACK waits for the responder's own", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  connect_with_credits(rig, pair, 2);
  rig.host_sends({send(pair, 102), send(pair, 103)});
  CHECK(rig.at_host() == Lines{"ack-credits1 102 msn 3"});
  CHECK(rig.count(Counter::pseudo_acks_withheld) == 1);
  SECTION("which may be for the last request") {
    rig.wan_sends(pair.ack(103, 4, 2));
    CHECK(rig.at_host() == Lines{"ack-credits2 103 msn 4"});
  }
  SECTION("or raise the limit for it") {
    rig.wan_sends(pair.ack(102, 3, 4));
    CHECK(rig.at_host() == Lines{"ack-credits3 103 msn 4"});
  }
}

TEST_CASE("more credits in an ACK that is absorbed reach the requester in a fresh one", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  connect_with_credits(rig, pair, 3);
  rig.host_sends({send(pair, 102), send(pair, 103)});
  rig.at_host();
  rig.wan_sends(pair.ack(102, 3, 5));
  CHECK(rig.at_host() == Lines{"ack-credits4 103 msn 4"});
  rig.wan_sends(pair.ack(103, 4, 4));  // less than was said before: nothing new
  CHECK(rig.at_host().empty());
  SECTION("also when the responder repeats its last ACK") {
    rig.wan_sends(pair.ack(103, 4, 7));
    CHECK(rig.at_host() == Lines{"ack-credits7 103 msn 4"});
  }
}

TEST_CASE("a responder that stops using credits is believed", "[engine][credits]") {
  Rig rig;
  const Pair pair;
  connect_with_credits(rig, pair, 0);
  rig.host_sends(send(pair, 102));
  CHECK(rig.at_host().empty());
  rig.wan_sends(pair.ack(102, 3));
  rig.host_sends(send(pair, 103));
  CHECK(rig.at_host() == Lines{"ack 102 msn 3", "ack 103 msn 4"});
}
