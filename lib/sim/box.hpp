// SPDX-License-Identifier: BSD-3-Clause
// A box between two segments: the real workers, wired as in the program (lib/box). It can be absent (a crash, a late
// start): then frames are lost, or pass it by. It can stand still: then frames wait in its ports' rings.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/side.hpp"
#include "box/wiring.hpp"
#include "engine/engine.hpp"
#include "sim/case.hpp"
#include "sim/control_path.hpp"
#include "sim/liar.hpp"
#include "sim/random.hpp"

namespace longhaul::sim {

/// Sees each frame at a box's ports: frames that the box takes in, and frames that a port accepts from it.
class BoxWatch {
 public:
  virtual ~BoxWatch() = default;
  virtual void on_in(unsigned box, Side side, const rte_mbuf* frame, Time now) = 0;
  virtual void on_out(unsigned box, Side side, const rte_mbuf* frame, Time now) = 0;
  /// The box has dropped `frames` since it started, because a port refused them for too long.
  virtual void on_dropped(unsigned box, std::uint64_t frames) = 0;
};

class Box final : public engine::Sink {
 public:
  /// Takes ownership of the frame.
  using Send = std::function<void(Side out, rte_mbuf* frame)>;
  /// `settings` are the whole box's. `pair_hash` is the hash of the two hosts. The worker that gets their frames also
  /// gets everything that is not RoCE.
  Box(unsigned number, const BoxPlan& plan, const engine::Settings& settings, const engine::Pools& pools,
      std::uint32_t pair_hash, std::uint64_t seed, BoxWatch& watch, custody::Observer& observer, Send send);
  ~Box() override;

  bool running() const { return wiring_ != nullptr; }
  void start(Time now);
  void crash();
  /// The workers' loops stop until then, as when the process is stopped.
  void pause(Time now, Time until);
  bool stands_still() const { return paused_until_ != 0; }

  /// Its peers hear no more of it.
  void leave_peers(Time now);

  void receive(Side side, std::span<rte_mbuf* const> frames, Time now);
  void poll(Time now);
  Time next_deadline() const;

  // For all workers.
  void set_draining(bool draining);
  bool draining() const;
  void set_bypass(bool bypass, Time now);
  void reconfigure(const engine::Settings& settings);
  std::uint64_t custody_packets() const;
  /// Frame bytes in custody, and held for their order: the most that there ever were.
  std::uint64_t peak_custody_bytes() const { return peak_custody_; }
  std::uint64_t peak_far_bytes() const { return peak_far_; }
  std::uint64_t unconfirmed_bytes() const;
  std::uint64_t waiting_frames() const;
  Counters counters() const;
  /// Frames lost to a full ring while the box stood still.
  std::uint64_t ring_lost() const { return ring_lost_; }

  using Workers = std::span<const std::unique_ptr<box::Worker>>;
  /// None while it is away.
  Workers workers() const { return running() ? wiring_->workers() : Workers(); }
  /// What each worker was made with. Only while it runs.
  const engine::Settings& share() const { return wiring_->share(); }

 private:
  box::PeerSettings peers();
  /// Null where it has no peers. Only while it runs.
  box::PeerDesk* desk() const { return workers().front()->desk(); }
  bool is_peer() const { return plan_.peer != number_of(BoxPeer::none); }
  bool is_from_peer(const rte_mbuf* frame) const;
  std::span<rte_mbuf* const> without_control(std::span<rte_mbuf* const> frames, Time now);
  void take_control(Time now);
  void attend_peers(Time now);
  void note_peaks();
  bool is_made_here(const rte_mbuf* frame) const;
  void tell_dropped();
  std::uint16_t transmit(Side out, rte_mbuf** frames, std::uint16_t count) override;
  void go_round(Time now);
  void take_in(Side side, std::span<rte_mbuf* const> frames, Time now);
  bool take_from_ring(Side side, Time now);
  void resume(Time now);
  void hand_over(Time now);
  void hand_over_all(Time now);
  void to_receiver(Side side, std::span<rte_mbuf* const> frames, Time now);

  unsigned number_;
  BoxPlan plan_;
  engine::Settings settings_;
  engine::Pools pools_;
  Random random_;
  std::uint64_t seed_;
  unsigned lives_ = 0;
  BoxWatch& watch_;
  custody::Observer& observer_;
  Send send_;
  std::vector<custody::RecordSlot> record_;  ///< survives a crash
  std::unique_ptr<box::Wiring> wiring_;      ///< null while the box is absent
  Time now_ = 0;
  Time not_before_ = 0;           ///< no poll before this: a deadline that does not move must not hold up time
  steer::Worker home_;            ///< the hosts' home worker
  Time hand_over_ = kNever;       ///< when workers next look for frames handed over
  std::size_t handing_over_ = 0;  ///< frames taken in since all were handed over, at most
  Time paused_until_ = 0;         ///< 0: the box does not stand still
  BySide<std::deque<rte_mbuf*>> rings_of_ports_;  ///< while the box stands still
  std::uint64_t ring_lost_ = 0;
  Time began_ = kNever;  ///< when the box first started
  std::unique_ptr<Liar> liar_;
  ControlPath control_path_;
  std::vector<rte_mbuf*> others_;  ///< frames of a burst that are not the peer's
  std::uint64_t peak_custody_ = 0;
  std::uint64_t peak_far_ = 0;
};

}  // namespace longhaul::sim
