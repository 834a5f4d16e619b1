// SPDX-License-Identifier: BSD-3-Clause
// A whole box. The input is a box's settings (4 bytes) and a list of events: connections by real RDMA-CM, requests and
// answers inside and outside their windows, arbitrary frames, time, full ports. box.hpp says what is judged. An input
// whose frames take the lane runs without it too, and the same frames must leave at the same times.
//
// Settings: byte 0: bit 0 confirm by CM, bit 1 policy off, bits 2-3: 1 policy window, 3 very few buffers, bits 4-5 WAN
// rate, bit 6 short dreq_hold, bit 7 short give_up. Byte 1: custody of one flow, in units of 256 bytes. Byte 2: initial
// window, in units of 128 bytes. Byte 3: low half: large mbufs of custody; high half: custody of the box, in KiB. Zero:
// plenty.
//
// Events: the low half of the first byte is the row of kEvents, the high half an argument. The event reads what
// follows. A connection is one of four slots: two with the same addresses, one over IPv6, one like the first in a VLAN.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "../unit/support/hosts.hpp"
#include "box.hpp"
#include "expect.hpp"
#include "input.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;

namespace {

constexpr std::uint32_t kMask = 0xffffff;
constexpr unsigned kMostEvents = 300;
constexpr std::size_t kMostRemembered = 64;

constexpr std::array<std::uint8_t, 16> kRequestOpcodes = {0x0a, 0x04, 0x06, 0x07, 0x08, 0x00, 0x01, 0x02,
                                                          0x0c, 0x14, 0x13, 0x17, 0x05, 0x0b, 0x15, 0x03};
constexpr std::array<std::size_t, 4> kSizes = {0, 32, 300, 1024};
constexpr std::array<std::uint32_t, 4> kReadSizes = {64, 1024, 3000, 0xffffffff};

/// A connection as its two hosts know it.
struct Slot {
  test::Pair pair;
  std::uint32_t start = 100;
  std::uint32_t next = 100;      ///< the requester's next PSN
  std::uint32_t answered = 100;  ///< the oldest PSN that the responder has not answered
  std::uint32_t completed = 0;
  std::map<std::uint32_t, std::uint32_t> msn_of;  ///< by PSN
};

class Attack {
 public:
  Attack(const engine::Settings& settings, bool scarce) : box_(settings, scarce) {
    slots_[1].pair.a_qpn = 0x33;
    slots_[1].pair.b_qpn = 0x44;
    slots_[1].pair.a_comm = 0xa2;
    slots_[1].pair.b_comm = 0xb2;
    slots_[2].pair.a_ip = "fd00::1";
    slots_[2].pair.b_ip = "fd00::2";
    slots_[3].pair.vlan = 5;
  }

  void event(Input& in) {
    const std::uint8_t first = in.u8();
    const unsigned n = first >> 4;
    (this->*kEvents[first & 15])(in, n);
  }
  void settle() { box_.settle(); }
  const Box& box() const { return box_; }

 private:
  using Event = void (Attack::*)(Input&, unsigned);
  static const std::array<Event, 16> kEvents;

  wire::PacketBuilder from(const Slot& slot, Side side) const {
    static constexpr wire::MacAddress kMacA{0x02, 0, 0, 0, 0, 0xaa};
    static constexpr wire::MacAddress kMacB{0x02, 0, 0, 0, 0, 0xbb};
    wire::PacketBuilder builder;
    if (side == Side::host)
      builder.ips(slot.pair.a_ip, slot.pair.b_ip).macs(kMacA, kMacB).qpn(slot.pair.b_qpn);
    else
      builder.ips(slot.pair.b_ip, slot.pair.a_ip).macs(kMacB, kMacA).qpn(slot.pair.a_qpn);
    if (slot.pair.vlan != 0) builder.vlan(slot.pair.vlan);
    return builder;
  }

  /// Hands frames over, with the ordered mutations. RDMA-CM goes alone (Box::on_flow_learned()).
  void put(Side side, std::vector<Bytes> frames) {
    for (Bytes& frame : frames) {
      for (const Mutation& mutation : mutations_) {
        if (mutation.offset < frame.size()) frame[mutation.offset] ^= mutation.with;
        if (mutation.repair) wire::refresh_icrc(frame);
      }
      mutations_.clear();
      if (remembered_.size() < kMostRemembered) remembered_.push_back({side, frame});
    }
    box_.receive(side, frames);
  }

  // ---- events

  void connect(Input& in, unsigned n) {
    Slot& slot = slots_[n & 3];
    const std::uint8_t how = in.u8();
    slot.pair.active = (n & 4) != 0 ? Side::wan : Side::host;
    slot.pair.path_mtu = (how & 2) != 0 ? 1 : 3;
    slot.start = slot.next = slot.answered = slot.pair.a_psn = (how & 1) != 0 ? 0xfffffa : 100;
    slot.completed = 0;
    slot.msn_of.clear();
    if ((how & 32) != 0) {
      ++slot.pair.transaction;
      ++slot.pair.a_comm;
    }
    if ((how & 4) == 0) put(slot.pair.active, {slot.pair.req()});
    if ((how & 8) == 0) put(other(slot.pair.active), {slot.pair.rep()});
    if ((how & 16) == 0) put(slot.pair.active, {slot.pair.rtu()});
    if ((n & 8) == 0) return;
    put(Side::host, {request(slot, 0x10, 0)});
    box_.wait(milliseconds(5));
    put(Side::wan, {answer(slot, 0x10, 0, 0)});
  }

  Bytes request(Slot& slot, std::uint8_t kind, std::uint8_t where) {
    const std::uint8_t opcode = kRequestOpcodes[kind & 15];
    const unsigned size = kind >> 5 & 3U;
    auto builder = from(slot, Side::host);
    builder.opcode(opcode).ack_req((kind & 16) != 0);
    std::uint32_t span = 1;
    if (opcode == 0x0c) {
      const std::uint32_t mtu = slot.pair.path_mtu == 1 ? 256 : 1024;
      builder.reth(0x1000, 0x77, kReadSizes[size]);
      span = static_cast<std::uint32_t>((std::uint64_t{kReadSizes[size]} + mtu - 1) / mtu);
    }
    const std::uint32_t by = where >> 3;
    std::uint32_t psn = slot.next;
    switch (where & 7) {
      case 4:
        psn = slot.next - 1 - by;
        break;
      case 5:
        psn = slot.next + 1 + by;
        break;
      case 6:
        psn = slot.next + (by << 19);
        break;
      case 7:
        break;
      default:
        if (ends_message(opcode)) ++slot.completed;
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(span, 64); ++i)
          slot.msn_of[(psn + i) & kMask] = slot.completed;
        slot.next = (slot.next + span) & kMask;
    }
    psn &= kMask;
    builder.psn(psn);
    const bool payload = opcode != 0x0c && opcode != 0x13 && opcode != 0x14;
    if (payload) builder.payload_size(kSizes[size], static_cast<std::uint8_t>(psn ^ opcode));
    Bytes frame = builder.build();
    if ((kind & 128) != 0) frame.back() ^= 1;
    return frame;
  }

  static bool ends_message(std::uint8_t opcode) {
    Roce roce;
    roce.opcode = opcode;
    return roce.ends_message();
  }

  void requests(Input& in, unsigned n) {
    Slot& slot = slots_[n & 3];
    std::vector<Bytes> burst;
    const std::uint8_t many = in.u8();
    for (unsigned i = 0; i <= (many & 7U); ++i) {
      const std::uint8_t kind = in.u8();
      const std::uint8_t where = in.u8();
      // One byte orders several of the same kind, in order.
      for (unsigned again = 0; again <= (n >> 2); ++again) burst.push_back(request(slot, kind, where));
    }
    put(Side::host, std::move(burst));
  }

  Bytes answer(Slot& slot, std::uint8_t kind, std::uint8_t where, std::uint8_t value) {
    const std::uint32_t base = (kind & 16) != 0 ? slot.next - 1 : slot.answered;
    const std::uint32_t psn = (base + static_cast<std::uint32_t>(static_cast<std::int8_t>(where))) & kMask;
    std::uint32_t msn = slot.msn_of.contains(psn) ? slot.msn_of[psn] : slot.completed;
    if ((kind & 32) != 0) msn = value;
    auto builder = from(slot, Side::wan);
    builder.psn(psn);
    switch (kind & 7) {
      case 0:
        builder.opcode(wire::kRcAcknowledge).aeth(0x1f, msn);
        slot.answered = (psn + 1) & kMask;
        break;
      case 1:
        builder.opcode(wire::kRcAcknowledge).aeth(static_cast<std::uint8_t>(0x60 | (value & 31)), msn);
        break;
      case 2:
        builder.opcode(wire::kRcAcknowledge).aeth(static_cast<std::uint8_t>(0x20 | (value & 31)), msn);
        break;
      case 3:
        builder.opcode(wire::kRcReadResponseFirst).aeth(0x1f, msn).payload_size(64);
        break;
      case 4:
        builder.opcode(wire::kRcReadResponseMiddle).payload_size(64);
        break;
      case 5:
        builder.opcode((kind & 64) != 0 ? wire::kRcReadResponseLast : wire::kRcReadResponseOnly)
            .aeth(0x1f, msn)
            .payload_size(64);
        slot.answered = (psn + 1) & kMask;
        break;
      case 6:
        builder.opcode(wire::kRcAtomicAcknowledge).aeth(0x1f, msn);
        slot.answered = (psn + 1) & kMask;
        break;
      default:
        builder.opcode(wire::kRcAcknowledge).aeth(value, msn);
    }
    Bytes frame = builder.build();
    if ((kind & 8) != 0) frame.back() ^= 1;
    return frame;
  }

  void answers(Input& in, unsigned n) {
    Slot& slot = slots_[n & 3];
    std::vector<Bytes> burst;
    const std::uint8_t many = in.u8();
    for (unsigned i = 0; i <= (many & 7U); ++i) {
      const std::uint8_t kind = in.u8();
      const std::uint8_t where = in.u8();
      burst.push_back(answer(slot, kind, where, in.u8()));
    }
    put(Side::wan, std::move(burst));
  }

  void wait(Input& in, unsigned n) { box_.wait(std::min<Duration>((in.u8() + 1ULL) * 100 << 2 * n, seconds(200))); }

  void room(Input& in, unsigned n) {
    const std::uint8_t frames = in.u8();
    box_.allow((n & 1) != 0 ? Side::wan : Side::host, frames == 255 ? Box::kUnlimited : frames);
  }

  /// An operator's actions: drain, another policy, bypass. Bit 0: on.
  void operate(Input&, unsigned n) {
    constexpr std::array kPolicies = {flow::Policy::full, flow::Policy::window, flow::Policy::off};
    const unsigned what = n >> 1;
    if (what < 3)
      box_.drain((n & 1) != 0);
    else if (what < 6)
      box_.change_policy(kPolicies[what - 3]);
    else
      box_.bypass((n & 1) != 0, what == 6 ? 2 : 1000);
  }

  void tear_down(Input& in, unsigned n) {
    const Slot& slot = slots_[n & 3];
    const Side side = (n & 4) != 0 ? Side::wan : Side::host;
    if (in.flag())
      put(side, {slot.pair.rej(side)});
    else
      put(side, {(n & 8) != 0 ? slot.pair.drep(side) : slot.pair.dreq(side)});
  }

  void raw(Input& in, unsigned n) {
    const Side side = (n & 1) != 0 ? Side::wan : Side::host;
    const std::uint16_t size = in.u16();
    const auto taken = in.take(size % 2048);
    Bytes frame(taken.begin(), taken.end());
    if ((n & 2) != 0) wire::refresh_icrc(frame);
    if ((n & 4) != 0)
      box_.receive(side, {frame}, true);
    else
      put(side, {frame});
  }

  void mutate(Input& in, unsigned n) {
    const std::uint8_t offset = in.u8();
    if (mutations_.size() < 4) mutations_.push_back({offset, in.u8(), (n & 1) != 0});
  }

  /// B's requests and A's answers: the near flow of the other box.
  void other_direction(Input& in, unsigned n) {
    const Slot& slot = slots_[n & 3];
    const std::uint32_t psn = slot.pair.b_psn + in.u8();
    if ((n & 4) != 0)
      put(Side::host, {from(slot, Side::host).opcode(wire::kRcAcknowledge).psn(psn).aeth(0x1f, in.u8()).build()});
    else
      put(Side::wan, {from(slot, Side::wan).opcode(kRequestOpcodes[in.u8() & 15]).psn(psn).ack_req().build()});
  }

  void congestion(Input&, unsigned n) {
    const Side side = (n & 4) != 0 ? Side::host : Side::wan;
    put(side, {from(slots_[n & 3], side).opcode(wire::kCnp).payload_size(16).build()});
  }

  void poll(Input& in, unsigned n) {
    box_.jump(milliseconds(in.u8()));
    box_.poll((n & 1) != 0);
  }

  void take_delays_or_restart(Input& in, unsigned n) {
    if (n < 12) {
      box_.take_delays();
      return;
    }
    const std::uint16_t at = n == 15 ? in.u16() : std::uint16_t{0};
    box_.restart(at, n == 15 ? in.u8() : std::uint8_t{0});
  }

  void repeat(Input& in, unsigned n) {
    const std::uint8_t which = in.u8();
    if (remembered_.empty()) return;
    const auto [side, frame] = remembered_[which % remembered_.size()];
    put((n & 1) != 0 ? other(side) : side, {frame});
  }

  void congestion_mark(Input& in, unsigned n) {
    Slot& slot = slots_[n & 3];
    const std::uint8_t kind = in.u8();
    Bytes frame = (n & 4) != 0 ? answer(slot, kind, in.u8(), in.u8()) : request(slot, kind, in.u8());
    const bool v6 = slot.pair.a_ip.find(':') != std::string::npos;
    const std::size_t ip = slot.pair.vlan != 0 ? 18 : 14;
    if (v6) {
      frame[ip + 1] |= 0x30;
    } else {
      frame[ip + 1] |= 3;
      if ((n & 8) == 0) {
        frame[ip + 10] = frame[ip + 11] = 0;
        const std::uint16_t sum = wire::ipv4_checksum(std::span(frame).subspan(ip, 20));
        frame[ip + 10] = static_cast<std::uint8_t>(sum >> 8);
        frame[ip + 11] = static_cast<std::uint8_t>(sum);
      }
    }
    put((n & 4) != 0 ? Side::wan : Side::host, {frame});
  }

  /// ARP, LACP and similar frames, each different.
  void other_protocol(Input& in, unsigned n) {
    const std::uint8_t size = in.u8();
    Bytes frame(14U + size, 0x42);
    frame[12] = 0x08;
    frame[13] = 0x06;
    ++serial_;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, size); ++i)
      frame[14 + i] = static_cast<std::uint8_t>(serial_ >> 8 * i);
    put((n & 1) != 0 ? Side::wan : Side::host, {frame});
  }

  struct Mutation {
    std::size_t offset;
    std::uint8_t with;
    bool repair;
  };
  struct Remembered {
    Side side;
    Bytes frame;
  };

  Box box_;
  std::array<Slot, 4> slots_;
  std::vector<Mutation> mutations_;
  std::vector<Remembered> remembered_;
  std::uint32_t serial_ = 0;
};

const std::array<Attack::Event, 16> Attack::kEvents = {
    &Attack::connect,
    &Attack::requests,
    &Attack::answers,
    &Attack::wait,
    &Attack::room,
    &Attack::operate,
    &Attack::tear_down,
    &Attack::raw,
    &Attack::mutate,
    &Attack::other_direction,
    &Attack::congestion,
    &Attack::poll,
    &Attack::take_delays_or_restart,
    &Attack::repeat,
    &Attack::congestion_mark,
    &Attack::other_protocol,
};

engine::Settings settings_from(Input& in, bool& scarce) {
  engine::Settings settings;
  const std::uint8_t flags = in.u8();
  const std::uint8_t flow = in.u8();
  const std::uint8_t window = in.u8();
  const std::uint8_t limits = in.u8();
  static constexpr std::array<std::uint64_t, 4> kRates = {0, 0, 50'000'000, 2'000'000};
  if ((flags & 1) != 0) settings.confirm = engine::Confirm::cm;
  if ((flags & 2) != 0) settings.policies.fallback = flow::Policy::off;
  if ((flags & 14) == 4) settings.policies.fallback = flow::Policy::window;
  scarce = (flags & 12) == 12;
  settings.wan_rate_bps = kRates[flags >> 4 & 3U];
  if ((flags & 64) != 0) settings.dreq_hold = milliseconds(20);
  if ((flags & 128) != 0) settings.give_up = milliseconds(500);
  if ((flags & 128) != 0) settings.rto_max = milliseconds(400);
  if (flow != 0) settings.custody_flow_bytes = flow * 256U;
  if (window != 0) settings.initial_window_bytes = window * 128U;
  settings.custody_mbufs = (limits & 15) != 0 ? limits & 15U : 1000;
  if (limits >> 4 != 0) settings.custody_box_bytes = (limits >> 4) * 1024U;
  settings.max_connections = 4;
  settings.max_pending_cm = 4;
  settings.max_candidates = 4;
  return settings;
}

/// What leaves the box under this input, with the lane or without.
std::uint64_t tell(const std::uint8_t* data, std::size_t size, bool lane, bool& used_lane) {
  Input in(data, size);
  bool scarce = false;
  engine::Settings settings = settings_from(in, scarce);
  settings.lane = lane;
  Attack attack(settings, scarce);
  for (unsigned events = 0; events < kMostEvents && !in.empty(); ++events) attack.event(in);
  attack.settle();
  used_lane |= attack.box().used_lane();
  return attack.box().story();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  prepare_box();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bool used_lane = false;
  const std::uint64_t story = tell(data, size, true, used_lane);
  if (used_lane && tell(data, size, false, used_lane) + (defect("lane") ? 1 : 0) != story)
    broken("the lane does not what the general path does", std::source_location::current());
  return 0;
}
