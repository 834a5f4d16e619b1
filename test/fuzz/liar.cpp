// SPDX-License-Identifier: BSD-3-Clause
// A box and its peer, which has the key and lies (docs/peer-protocol.md, section 9): any message at any moment, between
// the frames of two connections. Connection 0 has its requester here, connection 1 has it at the far end.
//
// Judged (rules A to C there): no message releases custody, and none makes the box say anything to a host. What goes to
// a host or to the WAN on a message has come from the other side, and goes no more often than it came (custody may send
// again). A box that has done what was due does not ask to be called at once. In the end every buffer is back.
//
// Input: byte 0 is the settings' (bit 0 confirm by CM, bit 1 few buffers, bit 2 a paced WAN). Then operations, a byte
// each: the low half is the row of kOperations, the high half an argument.
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "../unit/support/hosts.hpp"
#include "dpdk.hpp"
#include "engine/engine.hpp"
#include "engine/peer_link.hpp"
#include "expect.hpp"
#include "flow/connection_key.hpp"
#include "input.hpp"
#include "relay/messages.hpp"
#include "wire/frame.hpp"
#include "wire/psn.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;

namespace {

constexpr unsigned kMostOperations = 400;
constexpr PeerNumber kPeer = 1;

const engine::Pools& pools(bool scarce) {
  static const auto made = [] {
    start_eal();
    return std::array{
        engine::Pools::create({.name = "ample", .frame_bytes = 4400, .frames = 4096, .small_frames = 4096}),
        engine::Pools::create({.name = "scarce", .frame_bytes = 4400, .frames = 24, .small_frames = 12})};
  }();
  return made[scarce ? 1 : 0];
}

engine::Settings settings_of(std::uint8_t bits) {
  engine::Settings settings;
  settings.max_connections = settings.max_pending_cm = settings.max_candidates = 8;
  settings.estimate_wan_rate = false;
  settings.ack_unasked = 0;
  settings.cnp.send = false;
  if ((bits & 1) != 0) settings.confirm = engine::Confirm::cm;
  if ((bits & 4) != 0) settings.wan_rate_bps = 50'000'000;
  return settings;
}

Bytes bytes_of(const rte_mbuf* mbuf) {
  const auto* data = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
  return {data, data + mbuf->pkt_len};
}

class Lies final : engine::Sink, engine::PeerLink {
 public:
  explicit Lies(std::uint8_t bits) : pools_(pools((bits & 2) != 0)), used_before_(buffers_in_use(pools_)) {
    std::swap(pairs_[1].a_ip, pairs_[1].b_ip);
    pairs_[1].a_qpn = 0x33, pairs_[1].b_qpn = 0x44;
    pairs_[1].a_comm = 0xa2, pairs_[1].b_comm = 0xb2;
    engine_ = std::make_unique<engine::Engine>(settings_of(bits), pools_, static_cast<engine::Sink&>(*this), nullptr);
    engine_->join(*this);
    engine_->peer_up(kPeer, milliseconds(1));
    for (unsigned n : {0U, 1U}) {
      from_requester(n, pairs_[n].req());
      from_responder(n, pairs_[n].rep());
      from_requester(n, pairs_[n].rtu());
      from_requester(n, pairs_[n].write(next_[n]++));
      from_responder(n, pairs_[n].ack(next_[n] - 1, 1));
    }
  }

  void operate(Input& in) {
    const std::uint8_t first = in.u8();
    const unsigned n = first >> 4;
    (this->*kOperations[first & 15])(in, n);
    poll();
  }

  void end() {
    engine_->peer_gone(kPeer, now_);
    poll();
    for (const Side side : {Side::host, Side::wan}) room_[side] = SIZE_MAX;
    engine_.reset();
    if (defect("leak")) rte_pktmbuf_alloc(pools_.made);
    expect(buffers_in_use(pools_) == used_before_, "a buffer was lost");
  }

 private:
  using Operation = void (Lies::*)(Input&, unsigned);
  static const std::array<Operation, 16> kOperations;

  // ---- frames -----------------------------------------------------------------------------------

  void from_requester(unsigned n, const Bytes& frame) { receive(n == 0 ? Side::host : Side::wan, frame); }
  void from_responder(unsigned n, const Bytes& frame) { receive(n == 0 ? Side::wan : Side::host, frame); }

  void receive(Side side, const Bytes& bytes) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pools_.frames);
    if (mbuf == nullptr) return;  // the NIC has none either
    std::copy(bytes.begin(), bytes.end(), rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())));
    ++came_[side][bytes];
    again_.erase(bytes);
    engine_->receive(side, {&mbuf, 1}, now_);
  }

  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override {
    const auto accepted = static_cast<std::uint16_t>(std::min<std::size_t>(room_[out], count));
    if (room_[out] != SIZE_MAX) room_[out] -= accepted;
    for (std::uint16_t i = 0; i < accepted; ++i) {
      went_out(out, bytes_of(frames[i]));
      rte_pktmbuf_free(frames[i]);
    }
    return accepted;
  }

  void went_out(Side out, const Bytes& bytes) {
    auto& came = came_[other(out)];
    const auto found = came.find(bytes);
    if (out == Side::host) {
      const bool owed = found != came.end() && found->second > 0;
      if (owed) --found->second;
      wire::Frame frame;
      const bool answer = wire::parse(bytes, frame) == wire::ParseStatus::roce && frame.opcode != nullptr &&
                          frame.opcode->is_response();
      const bool may_be_made = answer && !on_message_;
      // Where the host is silent, or asks: as often as docs/peer-protocol.md, 11.2, says.
      constexpr unsigned kMostAgain = 6;
      const bool copy = !owed && !answer && found != came.end() && ++again_[bytes] <= kMostAgain;
      expect((owed || copy || may_be_made) && !defect("made"), "a host gets what nobody sent, or gets it twice");
      return;
    }
    // Custody sends again, and asks for an ACK where the host did not.
    if (on_message_ && found == came.end()) {
      wire::Frame frame;
      expect(wire::parse(bytes, frame) == wire::ParseStatus::roce && frame.destination_qpn() == pairs_[0].b_qpn,
             "the WAN gets what nobody sent");
    }
  }

  void send(Speaker, relay::Type type, relay::Bytes body) override {
    if (type == relay::Type::bind)
      for (const relay::BindEntry& entry : relay::entries_in<relay::BindEntry>(body)) bound_ = entry.name;
    if (type != relay::Type::clock && type != relay::Type::answer_clock) return;
    const auto* head = relay::take_head<relay::ClockHead>(body);
    if (head != nullptr) (type == relay::Type::clock ? clock_ : answer_clock_) = head->clock;
  }

  void requests(Input& in, unsigned n) {
    const unsigned which = n & 1;
    const auto psn = wire::psn_add(next_[which], static_cast<std::int8_t>(in.u8()) / 16);
    from_requester(which, pairs_[which].write(psn, {(n & 2) != 0, 32U * (n >> 2)}));
    if (wire::psn_lt(next_[which], wire::psn_add(psn, 1))) next_[which] = wire::psn_add(psn, 1);
  }
  void stream(Input&, unsigned n) {
    for (unsigned i = 0; i <= n; ++i) {
      from_requester(i & 1, pairs_[i & 1].write(next_[i & 1]));
      next_[i & 1] = wire::psn_add(next_[i & 1], 1);
    }
  }
  void reads(Input& in, unsigned n) {
    from_requester(n & 1, pairs_[n & 1].read(next_[n & 1], 64U << (n >> 1)));
    next_[n & 1] = wire::psn_add(next_[n & 1], 1 + in.u8() % 16);
  }
  void answers(Input& in, unsigned n) {
    const auto psn = wire::psn_add(next_[n & 1], -1 - in.u8() % 24);
    const std::uint32_t msn = (psn - 99 + (n & 2)) & wire::kPsnMask;
    if ((n & 12) == 4)
      from_responder(n & 1, pairs_[n & 1].nak(psn, msn));
    else if ((n & 8) != 0)
      from_responder(n & 1, pairs_[n & 1].answer((n & 4) != 0 ? "read_middle" : "read_only", psn, msn, 64));
    else
      from_responder(n & 1, pairs_[n & 1].ack(psn, msn));
  }
  void another_life(Input& in, unsigned n) {
    const unsigned which = n & 1;
    if ((n & 2) != 0) from_requester(which, pairs_[which].req());
    next_[which] = wire::psn_add(100, in.u8());
    for (unsigned i = 0; i < 3; ++i) from_requester(which, pairs_[which].write(next_[which]++, {true, 32U + 4 * n}));
  }
  void close(Input&, unsigned n) { from_requester(n & 1, pairs_[n & 1].dreq(Side::host)); }
  void damage(Input&, unsigned n) { from_requester(n & 1, test::damaged(pairs_[n & 1].write(next_[n & 1]))); }

  // ---- lies -------------------------------------------------------------------------------------

  void say(relay::Type type, relay::Bytes body) {
    const std::uint64_t custody = engine_->custody_packets();
    on_message_ = true;
    engine_->peer_said(speaker_of(kPeer, 0), relay::To::one, type, body, now_);
    on_message_ = false;
    expect(engine_->custody_packets() >= custody && !defect("released"), "a message has released custody");
  }

  void raw(Input& in, unsigned n) {
    static constexpr std::array kTypes = {relay::Type::bind,  relay::Type::unbind,       relay::Type::clock,
                                          relay::Type::state, relay::Type::answer_clock, relay::Type::answer_state};
    say(kTypes[n % kTypes.size()], in.take(in.u8()));
  }
  std::uint32_t near_psn(Input& in, unsigned which) {
    return wire::psn_add(next_[which], static_cast<std::int8_t>(in.u8()));
  }
  void state(Input& in, unsigned n) {
    const bool of_answers = in.flag();
    static constexpr std::array<std::uint8_t, 4> kFlags = {relay::kBound, 0, relay::kMended, relay::kNotBound};
    static constexpr std::array<std::uint8_t, 4> kOfAnswers = {relay::kFirst, relay::kFirst | relay::kComplete,
                                                               relay::kComplete, 0};
    const std::uint64_t clock = of_answers ? answer_clock_ : clock_;
    relay::StateWriter writer({(n & 8) != 0 ? clock : now_ - in.u8(), in.u8()});
    const auto type = of_answers ? relay::Type::answer_state : relay::Type::state;
    const auto send_body = [this, type](relay::Bytes body) { say(type, body); };
    std::uint32_t psn = near_psn(in, of_answers ? 1 : 0);
    if (of_answers)
      writer.begin({n >> 2 & 1, my_binding_}, kOfAnswers[n & 3], psn, send_body);
    else
      writer.begin(bound_, kFlags[n & 3], psn, send_body);
    for (unsigned ranges = n >> 2 & 1; ranges < 2; ++ranges) {
      psn = wire::psn_add(psn, in.u8() % 8);
      const std::uint32_t count = (n & 4) != 0 ? in.u24() : in.u8() % 8;
      writer.missing({psn, count}, send_body);
      psn = wire::psn_add(psn, count);
    }
    writer.finish(send_body);
  }
  void bind(Input& in, unsigned n) {
    wire::Frame frame;
    const Bytes request = pairs_[n >> 3].write(100);
    if (wire::parse(request, frame) != wire::ParseStatus::roce) return;
    relay::Body body;
    my_binding_ += n & 1;
    body.add(relay::BindEntry::of({n >> 1 & 1, my_binding_}, flow::key_of(frame).copy(), pairs_[n >> 3].a_qpn,
                                  near_psn(in, 1), 256U << (n & 7)));
    say(relay::Type::bind, body.bytes());
  }
  void unbind(Input& in, unsigned n) {
    relay::Body body;
    body.add(relay::UnbindEntry{{n >> 1 & 1, my_binding_ - in.u8() % 2}, static_cast<std::uint8_t>(n & 1)});
    say(relay::Type::unbind, body.bytes());
  }
  void clock(Input& in, unsigned n) {
    relay::Body body;
    body.add(relay::ClockHead{now_ + n});
    if (in.flag()) {
      body.add(relay::AnswerClockEntry{bound_, near_psn(in, 0)});
      return say(relay::Type::answer_clock, body.bytes());
    }
    const std::uint32_t lowest = near_psn(in, 1), end = near_psn(in, 1);
    body.add(relay::ClockEntry{{n >> 1 & 1, my_binding_}, lowest, end, near_psn(in, 1)});
    say(relay::Type::clock, body.bytes());
  }
  void comes_and_goes(Input&, unsigned n) {
    if ((n & 1) != 0)
      engine_->peer_gone(kPeer, now_);
    else
      engine_->peer_up(kPeer, microseconds(1U << n));
  }

  // ---- time and ports ---------------------------------------------------------------------------

  void wait(Input&, unsigned n) {
    const Time until = now_ + microseconds(1ull << 2 * (n & 7));
    for (unsigned polls = 0; polls < 200 && engine_->next_deadline() <= until; ++polls) {
      now_ = std::max(now_ + 1, engine_->next_deadline());
      poll();
    }
    now_ = std::max(now_, until);
  }
  void limit(Input& in, unsigned n) {
    room_[(n & 1) != 0 ? Side::host : Side::wan] = (n & 2) != 0 ? SIZE_MAX : in.u8();
  }
  void operators(Input& in, unsigned n) {
    if ((n & 1) != 0) {
      engine_->set_draining((n & 2) != 0);
    } else {
      engine_->set_bypass(true, now_);
      engine_->forget(0, engine_->connection_slots(), "bypass", now_);
      if (in.flag()) engine_->set_bypass(false, now_);
    }
  }

  // A port that is full may want to be tried again.
  void poll() {
    engine_->poll(now_);
    if (room_[Side::host] == SIZE_MAX && room_[Side::wan] == SIZE_MAX)
      expect(engine_->next_deadline() > now_, "the box wants to be called again at once");
  }

  const engine::Pools& pools_;
  unsigned used_before_;
  std::array<test::Pair, 2> pairs_;
  std::array<std::uint32_t, 2> next_ = {100, 100};
  BySide<std::map<Bytes, unsigned>> came_;  ///< and has not gone on to a host
  std::map<Bytes, unsigned> again_;         ///< since it came, a request has gone to its host from a copy
  BySide<std::size_t> room_{SIZE_MAX, SIZE_MAX};
  Time now_ = seconds(1000);
  bool on_message_ = false;
  relay::Name bound_{};
  std::uint64_t clock_ = 0;
  std::uint64_t answer_clock_ = 0;
  std::uint32_t my_binding_ = 1;
  std::unique_ptr<engine::Engine> engine_;
};

const std::array<Lies::Operation, 16> Lies::kOperations = {
    &Lies::requests, &Lies::stream, &Lies::reads, &Lies::answers,       &Lies::another_life, &Lies::close,
    &Lies::damage,   &Lies::raw,    &Lies::state, &Lies::operators,     &Lies::bind,         &Lies::unbind,
    &Lies::clock,    &Lies::wait,   &Lies::limit, &Lies::comes_and_goes};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Lies lies(in.u8());
  for (unsigned operations = 0; !in.empty() && operations < kMostOperations; ++operations) lies.operate(in);
  lies.end();
  return 0;
}
