// SPDX-License-Identifier: BSD-3-Clause
// RDMA-CM. Any 256 bytes as a MAD are compared with fields read by their offsets. Sequences of messages, some of them
// forged, are compared with a plain list of what is established.
#include "wire/cm.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "expect.hpp"
#include "flow/cm_tracker.hpp"
#include "input.hpp"
#include "reference.hpp"
#include "wire/builder.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;
using wire::CmAttribute;
using wire::CmMessage;

namespace {

// ---- one MAD ----------------------------------------------------------------------------------------------------

/// IBTA vol. 1, 13.4.2 and 12.6.5 to 12.6.11: offsets from the first byte of the MAD.
bool agrees(const CmMessage& message, std::span<const std::uint8_t> mad) {
  const auto bits = [&mad](std::size_t at, unsigned shift, unsigned width) {
    return static_cast<unsigned>(mad[at]) >> shift & ((1U << width) - 1);
  };
  const std::uint64_t transaction = std::uint64_t{number_at(mad, 8, 4)} << 32 | number_at(mad, 12, 4);
  CmMessage right;
  right.attribute = static_cast<CmAttribute>(number_at(mad, 16, 2));
  right.local_comm_id = number_at(mad, 24, 4);
  right.remote_comm_id = right.attribute == CmAttribute::req ? 0 : number_at(mad, 28, 4);
  if (right.attribute == CmAttribute::req) {
    right.service_id = std::uint64_t{number_at(mad, 32, 4)} << 32 | number_at(mad, 36, 4);
    right.local_qpn = number_at(mad, 56, 3);
    right.responder_resources = mad[59];
    right.initiator_depth = mad[63];
    right.reliable_connected = bits(67, 1, 2) == 0;
    right.end_to_end_flow_control = bits(67, 0, 1) != 0;
    right.starting_psn = number_at(mad, 68, 3);
    right.retry_count = static_cast<std::uint8_t>(bits(71, 0, 3));
    right.p_key = static_cast<std::uint16_t>(number_at(mad, 72, 2));
    right.path_mtu = static_cast<std::uint8_t>(bits(74, 4, 4));
    right.rnr_retry_count = static_cast<std::uint8_t>(bits(74, 0, 3));
    right.max_cm_retries = static_cast<std::uint8_t>(bits(75, 4, 4));
    right.local_ack_timeout = static_cast<std::uint8_t>(bits(119, 3, 5));
  } else if (right.attribute == CmAttribute::rep) {
    right.local_qpn = number_at(mad, 36, 3);
    right.starting_psn = number_at(mad, 44, 3);
    right.responder_resources = mad[48];
    right.initiator_depth = mad[49];
    right.end_to_end_flow_control = bits(50, 0, 1) != 0;
    right.rnr_retry_count = static_cast<std::uint8_t>(bits(51, 5, 3));
  } else if (right.attribute == CmAttribute::rej) {
    right.reject_reason = static_cast<std::uint16_t>(number_at(mad, 34, 2));
  } else if (right.attribute == CmAttribute::dreq) {
    right.remote_qpn = number_at(mad, 32, 3);
  }
  return message.attribute == right.attribute && message.transaction_id == transaction &&
         message.local_comm_id == right.local_comm_id && message.remote_comm_id == right.remote_comm_id &&
         message.local_qpn == right.local_qpn && message.starting_psn == right.starting_psn &&
         message.responder_resources == right.responder_resources && message.initiator_depth == right.initiator_depth &&
         message.rnr_retry_count == right.rnr_retry_count &&
         message.end_to_end_flow_control == right.end_to_end_flow_control &&
         message.reliable_connected == right.reliable_connected && message.path_mtu == right.path_mtu &&
         message.retry_count == right.retry_count && message.local_ack_timeout == right.local_ack_timeout &&
         message.max_cm_retries == right.max_cm_retries && message.p_key == right.p_key &&
         message.service_id == right.service_id && message.reject_reason == right.reject_reason &&
         message.remote_qpn == right.remote_qpn;
}

bool known_attribute(std::uint32_t attribute) { return attribute >= 0x10 && attribute <= 0x16; }

void one_mad(Input& input) {
  const auto payload = input.rest();
  wire::PacketBuilder builder;
  builder.opcode(wire::kUdSendOnly).qpn(wire::kGsiQpn).deth(0x80010000, 1);
  const Bytes built = builder.payload(payload.first(std::min<std::size_t>(payload.size(), 4096))).build();
  const Exact frame_bytes(built);
  wire::Frame frame;
  expect(wire::parse(frame_bytes.bytes(), frame) == wire::ParseStatus::roce, "a built frame does not parse");
  const auto message = wire::parse_cm(frame);
  const bool is_cm = payload.size() >= wire::kMadSize && payload[0] == 1 && payload[1] == 7 && payload[2] == 2 &&
                     known_attribute(number_at(payload, 16, 2));
  expect(message.has_value() == is_cm, "a CM message");
  if (!message) return;
  CmMessage seen = *message;
  if (defect("field")) seen.starting_psn ^= 1;
  expect(agrees(seen, payload), "fields of a CM message");
  Bytes mad(wire::kMadSize, 0xee);
  wire::write_cm(*message, std::span<std::uint8_t, wire::kMadSize>(mad));
  // A REQ for UC, RD or XRC is written as UC: write_cm() knows only RC and UC.
  expect(agrees(*message, mad) && mad[3] == 3, "a CM message written again");
}

// ---- sequences --------------------------------------------------------------------------------------------------

constexpr std::uint16_t kVlans[] = {0, 5};

/// Who sends which message to whom. The alphabets are small, so that messages meet.
struct Step {
  Side from;
  CmMessage message;
  wire::IpAddress source;
  wire::IpAddress destination;
  std::uint16_t vlan;
  Time later;
  bool take_up;  ///< the tracker's user follows what it says
  bool waits;    ///< the REP's connection waits for the active end's word
};

wire::IpAddress host(unsigned number) {
  return wire::IpAddress::from_ipv4({10, 0, 0, static_cast<std::uint8_t>(1 + number)});
}

Step step_from(Input& input) {
  static constexpr CmAttribute kKinds[8] = {CmAttribute::req,  CmAttribute::rep, CmAttribute::rej, CmAttribute::dreq,
                                            CmAttribute::drep, CmAttribute::rtu, CmAttribute::mra, CmAttribute::rep};
  const std::uint8_t who = input.u8();
  const std::uint8_t ids = input.u8();
  const std::uint8_t what = input.u8();
  const std::uint8_t more = input.u8();
  Step step{};
  step.message.attribute = kKinds[who & 7];
  step.from = (who & 8) != 0 ? Side::wan : Side::host;
  // Usually from the side where the source lives, otherwise from a forged source.
  const bool swapped = ((who & 8) != 0) != ((who & 16) != 0);
  step.source = host(swapped ? 2 + (who >> 5 & 1U) : who >> 6 & 1U);
  step.destination = host(swapped ? who >> 6 & 1U : 2 + (who >> 5 & 1U));
  step.vlan = kVlans[who >> 7];
  step.message.local_comm_id = ids & 7U;
  step.message.remote_comm_id = ids >> 3 & 7U;
  step.message.transaction_id = ids >> 6;
  step.message.local_qpn = 0x10 + (what & 7U);
  step.message.starting_psn = 0xfffff8 + (what >> 3 & 7U);
  step.message.reliable_connected = what >> 6 != 3;
  step.message.path_mtu = more & 7;
  step.message.retry_count = more >> 3 & 7;
  step.message.local_ack_timeout = static_cast<std::uint8_t>(more >> 1 & 31);
  step.take_up = more >> 6 != 3;
  step.waits = (what >> 6 & 1) != 0;
  if ((more & 0xc0) == 0x80) step.later = seconds(input.u8());
  return step;
}

/// An exchange, identified by its active end.
struct Exchange {
  std::uint16_t vlan;
  wire::IpAddress active;
  wire::IpAddress passive;
  std::uint32_t active_comm;
  bool operator==(const Exchange&) const = default;
};

struct Asked {
  Exchange exchange;
  Side active_side;
  CmMessage request;
  std::optional<CmMessage> reply;  ///< the last one
};

struct Waiting {
  Exchange exchange;
  Side active_side;
  std::uint32_t passive_comm;
  std::uint64_t transaction;
  std::uint64_t mark;
  std::optional<flow::ConnectionIndex> index;  ///< of a connection that stands already, and waits for the word
};

struct Established {
  Exchange exchange;
  Side active_side;
  std::uint32_t passive_comm;
  std::uint64_t transaction;
  flow::ConnectionIndex index;
};

class World {
 public:
  explicit World(std::uint32_t pending) : tracker_(pending, 64) {}

  void play(const Step& step) {
    now_ += step.later;
    const bool tagged = step.vlan != 0;
    wire::Frame frame;
    frame.vlan.value = tagged ? 1U << 24 | static_cast<std::uint32_t>(step.vlan) << 12 : 0;
    frame.source = step.source;
    frame.destination = step.destination;
    flow::CmOutcome outcome = tracker_.handle(frame, step.message, step.from, now_);
    if (outcome.event == flow::CmEvent::established) {
      established(step, outcome);
      outcome = tracker_.handle(frame, step.message, step.from, now_);
    }
    if (defect("wrong-connection") && outcome.connection) ++*outcome.connection;
    switch (step.message.attribute) {
      case CmAttribute::req:
        expect(outcome.event == flow::CmEvent::none || outcome.event == flow::CmEvent::table_full ||
                   outcome.event == flow::CmEvent::repeated,
               "a REQ touched a connection");
        expect((outcome.event == flow::CmEvent::repeated) == outcome.connection.has_value(), "a REQ's connection");
        if (outcome.connection)
          expect(std::any_of(live_.begin(), live_.end(),
                             [&](const Established& live) {
                               return live.index == outcome.connection && live.exchange == as_active(step) &&
                                      live.active_side == step.from && live.transaction == step.message.transaction_id;
                             }),
                 "a REQ repeated of a connection that is not its own");
        if (step.message.reliable_connected) asked_.push_back({as_active(step), step.from, step.message, {}});
        break;
      case CmAttribute::rep:
        replied(step, outcome);
        break;
      case CmAttribute::rej:
        rejected(step, outcome);
        break;
      case CmAttribute::dreq:
      case CmAttribute::drep:
        ended(step, outcome);
        break;
      case CmAttribute::rtu:
      case CmAttribute::mra:
        expect(outcome.event == flow::CmEvent::none && !outcome.connection, "RTU and MRA mean nothing once it stands");
        break;
    }
  }

 private:
  static Exchange as_active(const Step& step) {
    return {step.vlan, step.source, step.destination, step.message.local_comm_id};
  }
  static Exchange as_passive(const Step& step) {
    return {step.vlan, step.destination, step.source, step.message.remote_comm_id};
  }

  void replied(const Step& step, const flow::CmOutcome& outcome) {
    if (outcome.event == flow::CmEvent::repeated) {
      const auto same = [&](const Established& live) {
        return live.index == outcome.connection && live.exchange == as_passive(step) && live.active_side != step.from &&
               live.transaction == step.message.transaction_id && live.passive_comm == step.message.local_comm_id;
      };
      expect(std::any_of(live_.begin(), live_.end(), same), "a REP repeated of a connection that is not its own");
      return;
    }
    if (outcome.event != flow::CmEvent::replied) {
      expect(!outcome.connection, "a REP touched a connection");
      return;
    }
    // The REQ of a live connection was forgotten and came again, or the ends count their IDs from the start again.
    if (outcome.connection)
      expect(std::any_of(live_.begin(), live_.end(),
                         [&](const Established& live) {
                           return live.index == outcome.connection && live.exchange == as_passive(step) &&
                                  live.active_side != step.from && live.passive_comm == step.message.local_comm_id &&
                                  (live.transaction == step.message.transaction_id) == outcome.same_transaction;
                         }),
             "a REP with the IDs of a connection that is not its own");
    const auto& info = outcome.info;
    const auto& passive = info.end(step.from);
    const auto& active = info.end(other(step.from));
    expect(passive.ip == step.source && active.ip == step.destination && passive.qpn == step.message.local_qpn &&
               active.starting_psn == step.message.starting_psn,
           "what a REP tells");
    const auto request = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& asked) {
      static constexpr std::uint32_t kMtu[8] = {0, 256, 512, 1024, 2048, 4096, 0, 0};
      const Duration timeout =
          asked.request.local_ack_timeout == 0 ? 0 : std::uint64_t{4096} << asked.request.local_ack_timeout;
      return asked.exchange == as_passive(step) && asked.active_side != step.from &&
             asked.request.transaction_id == step.message.transaction_id && active.qpn == asked.request.local_qpn &&
             passive.starting_psn == asked.request.starting_psn && info.path_mtu == kMtu[asked.request.path_mtu] &&
             info.retry_count == asked.request.retry_count && info.ack_timeout == timeout &&
             !(asked.reply && same_reply(*asked.reply, step.message));
    });
    // One REQ is one connection. The same REP again is a repeat.
    expect(request != asked_.end(), "a connection that nobody asked for");
    request->reply = step.message;
    expect(outcome.active_side == request->active_side, "whose REQ it was");
    Waiting exchange{as_passive(step), request->active_side, step.message.local_comm_id, step.message.transaction_id,
                     next_mark_++,     std::nullopt};
    if (!step.take_up) return;
    if (step.waits)
      tracker_.postpone(exchange.mark);
    else
      exchange.index = bind(exchange, true);
    waiting_.push_back(exchange);
  }

  static bool same_reply(const CmMessage& one, const CmMessage& other) {
    return one.local_comm_id == other.local_comm_id && one.local_qpn == other.local_qpn &&
           one.starting_psn == other.starting_psn;
  }

  void established(const Step& step, const flow::CmOutcome& outcome) {
    const auto kind = step.message.attribute;
    expect(kind == CmAttribute::rtu || kind == CmAttribute::mra || kind == CmAttribute::dreq,
           "what shows that the active end has read the REP");
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
      return (waiting.index ? waiting.index == outcome.connection : waiting.mark == outcome.mark) &&
             waiting.exchange == as_active(step) && waiting.active_side == step.from &&
             waiting.passive_comm == step.message.remote_comm_id;
    });
    expect(found != waiting_.end(), "a connection that did not wait was established");
    const auto stands = [&](const Established& live) { return live.index == *found->index; };
    if (found->index)
      expect(std::any_of(live_.begin(), live_.end(), stands), "one that has ended was established");
    else
      bind(*found, false);
    waiting_.erase(found);
  }

  flow::ConnectionIndex bind(const Waiting& exchange, bool wants_word) {
    const auto index = static_cast<flow::ConnectionIndex>(next_index_++ % kSlots);
    std::erase_if(live_, [&](const Established& old) {
      return old.index == index || (old.exchange == exchange.exchange && old.passive_comm == exchange.passive_comm);
    });
    tracker_.bind(index, wants_word);
    live_.push_back({exchange.exchange, exchange.active_side, exchange.passive_comm, exchange.transaction, index});
    return index;
  }

  void rejected(const Step& step, const flow::CmOutcome& outcome) {
    expect((outcome.event == flow::CmEvent::rejected) == outcome.connection.has_value(), "a REJ's connection");
    if (!outcome.connection) return;
    const auto found = std::find_if(live_.begin(), live_.end(), [&](const Established& live) {
      return live.index == *outcome.connection && live.exchange == as_active(step) && live.active_side == step.from &&
             live.transaction == step.message.transaction_id && live.passive_comm == step.message.remote_comm_id;
    });
    expect(found != live_.end(), "a REJ ended a connection that is not its own");
    close(step, found);
  }

  void ended(const Step& step, const flow::CmOutcome& outcome) {
    const auto own = [&](const Established& live) {
      const bool by_active = live.exchange == as_active(step) && live.active_side == step.from &&
                             live.passive_comm == step.message.remote_comm_id;
      const bool by_passive = live.exchange == as_passive(step) && live.active_side != step.from &&
                              live.passive_comm == step.message.local_comm_id;
      return by_active || by_passive;
    };
    if (!outcome.connection) {
      expect(outcome.event == flow::CmEvent::unmatched, "a DREQ or DREP without a connection");
      expect(std::none_of(live_.begin(), live_.end(), own), "an established connection was forgotten");
      return;
    }
    expect(outcome.event == (step.message.attribute == CmAttribute::dreq ? flow::CmEvent::disconnect_requested
                                                                         : flow::CmEvent::disconnected),
           "what a DREQ or DREP means");
    const auto found = std::find_if(live_.begin(), live_.end(), [&](const Established& live) {
      return live.index == *outcome.connection && own(live);
    });
    expect(found != live_.end(), "a DREQ or DREP of a connection that is not its own");
    if (step.message.attribute == CmAttribute::drep) close(step, found);
  }

  void close(const Step& step, std::vector<Established>::iterator position) {
    if (!step.take_up) return;
    tracker_.forget(position->index);
    live_.erase(position);
  }

  static constexpr unsigned kSlots = 4;
  flow::CmTracker tracker_;
  Time now_ = seconds(1000);
  unsigned next_index_ = 0;
  std::uint64_t next_mark_ = 1;
  std::vector<Asked> asked_;
  std::vector<Waiting> waiting_;
  std::vector<Established> live_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t mode = input.u8();
  if ((mode & 1) == 0) {
    one_mad(input);
    return 0;
  }
  World world(1 + (mode >> 1 & 7U));
  for (unsigned steps = 0; steps < 500 && !input.empty(); ++steps) world.play(step_from(input));
  return 0;
}
