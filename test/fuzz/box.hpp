// SPDX-License-Identifier: BSD-3-Clause
// A box under attack: one engine between two test ports. After each call the input and output are judged: frames
// unaltered and in order, promises (flow_judge.hpp), counter sums, and the engine's own consistency. At the end every
// buffer must be back.
#pragma once

#include <rte_mbuf.h>

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/side.hpp"
#include "engine/engine.hpp"
#include "flow_judge.hpp"
#include "input.hpp"

namespace longhaul::fuzz {

/// A frame that came out, as the hosts see it.
struct Emitted {
  Side out;
  Bytes bytes;
  std::uint64_t number;  ///< of the received frame; for a frame that is in no receive buffer, the next number
};

/// Starts the EAL and makes all pools, once per process.
void prepare_box();

class Box final : public engine::Sink, public custody::Observer {
 public:
  /// `scarce`: pools with only a few buffers.
  Box(const engine::Settings& settings, bool scarce);
  ~Box() override;
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  /// Receives one burst. `chained`: each frame is in two buffers.
  void receive(Side side, const std::vector<Bytes>& frames, bool chained = false);
  void poll(bool answers_waiting);
  /// Lets time pass, and polls when the engine asks for it.
  void wait(Duration duration);
  void jump(Duration duration) { now_ += duration; }
  void allow(Side side, std::size_t frames);
  static constexpr std::size_t kUnlimited = SIZE_MAX;
  void drain(bool on);
  void change_policy(flow::Policy policy);
  /// If on, the connections in the first `forgotten` slots are forgotten at once, the others when bypass ends.
  void bypass(bool on, std::uint32_t forgotten);
  void take_delays();
  /// Kills the process and starts it again with its restart record. `damage` is XORed into one byte of the record.
  void restart(std::size_t at, std::uint8_t damage);

  /// Honest responders answer everything, and ports accept everything. Custody must end empty, and all that was
  /// promised arrive.
  void settle();

  Time now() const { return now_; }

  /// All that has left the box: each frame, its port and its time, in order.
  std::uint64_t story() const { return story_; }
  /// Frames have taken the lane.
  bool used_lane() const { return used_lane_; }

 private:
  struct Flow {
    custody::FlowIdentity identity;
    std::vector<unsigned> vids;
    FlowJudge judge;
    bool over = false;        ///< failed, closed or unconfirmed, which the box said: custody may be gone
    std::uint64_t since = 0;  ///< number of the first frame that can belong to it
    // As an honest responder:
    Position expected = 0;
    std::uint32_t msn = 0;  ///< without wrap
    bool asked_again = false;
    bool too_long = false;  ///< a READ that is too long to answer here
  };
  struct Known {
    Bytes bytes;
    Side side;
    bool plain;            ///< not RoCE, so it must go out in order
    std::uint64_t number;  ///< counted over all received frames
  };

  // engine::Sink, custody::Observer
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;
  void on_pseudo_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, Time) override;
  void on_flow_learned(const custody::FlowIdentity& flow, Time) override;
  void on_flow_failed(const custody::FlowIdentity& flow, std::string_view, std::uint64_t, Time) override;
  void on_flow_closed(const custody::FlowIdentity& flow, std::uint64_t, Time) override;
  void on_began_again(const custody::FlowIdentity& flow, Time) override;
  void on_unconfirmed_in_doubt(const custody::FlowIdentity& flow, std::uint64_t, std::uint64_t, Time) override;

  rte_mbuf* make(Side side, const Bytes& bytes, bool chained);
  void came_in(Side side, const Bytes& bytes);
  void learned_from_cm(const custody::FlowIdentity& identity, const Roce& roce);
  void learned_from_traffic(const custody::FlowIdentity& identity);
  void came_in_cm(const Bytes& bytes, const Roce& roce);
  void went_out(Side out, rte_mbuf* mbuf);
  void forwarded(Side out, const rte_mbuf* mbuf, const Bytes& bytes);
  void made(const Bytes& bytes);
  void resent(const Bytes& bytes);
  void complete(std::size_t left);
  void start();
  void check();
  Flow* by_requests(const Roce& roce);
  Flow* by_answers(const Roce& roce);
  static bool is_answer_of(const Flow& flow, const Roce& roce);
  Flow* by_serial(std::uint64_t serial);
  static void failed(Flow& flow);
  std::uint32_t msn_of(const Flow& flow) const;
  void answer(Flow& flow, const Bytes& bytes, const Roce& request, std::vector<Bytes>& answers);

  struct InFlight {
    rte_mbuf* mbuf;
    Bytes bytes;
  };

  engine::Settings settings_;
  const engine::Pools& pools_;
  std::vector<custody::RecordSlot> record_;
  std::unique_ptr<engine::Engine> engine_;
  Time now_ = seconds(1000);
  BySide<std::size_t> room_{kUnlimited, kUnlimited};
  std::uint64_t received_ = 0;
  bool draining_ = false;
  std::vector<flow::Policy> policies_;  ///< all policies so far
  bool refuses_ = false;                ///< the WAN port has refused frames, or may have
  std::deque<InFlight> in_flight_;
  std::unordered_map<const rte_mbuf*, Known> known_;  ///< what each receive buffer holds
  BySide<std::deque<const rte_mbuf*>> plain_;         ///< frames that are not RoCE, by the side they came in on
  std::unordered_set<std::uint64_t> requests_;  ///< hashes of frames received on the host side, without MAC addresses
  std::set<Bytes> next_hops_;                   ///< destination MAC addresses of these frames
  bool heard_ = false;                          ///< a frame that is not RoCE came in on the WAN side
  std::list<Flow> flows_;                       ///< newest first
  struct Req {
    std::uint32_t comm, psn;
    std::uint64_t transaction;
    std::uint8_t mtu;
    std::array<std::uint8_t, 16> active;
    std::vector<unsigned> vids;
  };
  /// Communication IDs of a REP: its sender's, and the REQ's.
  struct Rep {
    std::uint32_t own;
    std::uint32_t other;
    bool operator==(const Rep&) const = default;
  };
  static constexpr std::uint32_t kRep = 0x13;
  std::vector<Rep> reps_;
  std::vector<Req> reqs_;
  struct KnownRequest {
    Roce roce;
    std::uint64_t content;
  };
  std::vector<KnownRequest> history_;
  std::vector<Bytes> current_;  ///< the burst being received
  Side current_side_ = Side::host;
  std::vector<Emitted> out_;  ///< since settle() last looked
  bool settling_ = false;
  Time settling_since_ = 0;
  std::uint64_t story_ = 0;
  bool used_lane_ = false;
};

}  // namespace longhaul::fuzz
