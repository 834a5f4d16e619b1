// SPDX-License-Identifier: BSD-3-Clause
// The devices that run in this process, each on its own worker lcore: the box, the floor (with and without a backlog),
// macswap and mac.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "app/box/box_loop.hpp"
#include "base/side.hpp"
#include "drivers/clock.hpp"
#include "engine/engine.hpp"
#include "test/bench/device.hpp"
#include "test/bench/meter.hpp"
#include "test/bench/ring_ports.hpp"

namespace longhaul::bench {

/// A device that is a loop over two drivers::Port.
class LoopDevice : public Device {
 public:
  /// `share`: the lcore's processor is also that of the thread that hands out chunks.
  LoopDevice(PortPair ports, unsigned lcore, bool share);

  bool shares_processor() const override { return share_; }
  void resume() override { meter_.resume(); }
  void pause() override { meter_.pause(); }
  void offered(std::uint64_t frames) override { meter_.offered(frames); }
  std::optional<Work> done() override;
  bool preempted() const override { return meter_.reading()->preempted; }

 protected:
  /// Runs on the lcore until ask_to_stop().
  virtual void loop() = 0;
  virtual void ask_to_stop() = 0;

  // A derived class calls these at the end of its constructor and at the beginning of its destructor.
  void launch();
  void stop();

  drivers::Port& port(Side side) { return metered_[side]; }

 private:
  static int run(void* self);

  Meter meter_;
  BySide<MeteredPort> metered_;
  unsigned lcore_;
  bool share_;
};

/// Says what is wrong with a box whose requests are all answered. Empty if nothing is.
std::string complaint_of(const engine::Engine& engine);

/// longhaul itself: the real engine in the real loop. `with_record`: with a restart record in ordinary memory.
class BoxDevice : public LoopDevice {
 public:
  BoxDevice(PortPair ports, unsigned lcore, bool share, const engine::Settings& settings, const engine::Pools& pools,
            const drivers::Clock& clock, bool with_record = false);
  ~BoxDevice() override { stop(); }

  std::string name() const override { return "box"; }
  bool accelerates() const override { return true; }
  std::string complaint() const override { return complaint_of(worker_.engine()); }

 protected:
  app::Orders& orders() { return orders_; }

 private:
  void loop() override { box_loop_.run(requests_); }
  void ask_to_stop() override;

  app::PortSink sink_;
  std::vector<custody::RecordSlot> record_;
  box::Worker worker_;
  app::Requests requests_;
  app::Orders orders_;
  app::BoxLoop box_loop_;
};

/// The same box while it is asked for its counters, kPerSecond times a second, and for all its connections, a tenth as
/// often. The questions come in portions, as from app::Gatherer. This is five times the most that a box is asked when
/// it is scraped ten times a second, because a device waits for its turn half of the time or more.
class ScrapedBoxDevice final : public BoxDevice {
 public:
  static constexpr unsigned kPerSecond = 50;

  ScrapedBoxDevice(PortPair ports, unsigned lcore, bool share, const engine::Settings& settings,
                   const engine::Pools& pools, const drivers::Clock& clock);
  ~ScrapedBoxDevice() override;

  std::string name() const override { return "box-scraped"; }

 private:
  void scrape();
  void report();
  void survey();

  std::atomic<bool> done_{false};
  std::thread thread_;
};

/// Receives a burst, processes it, and sends it, in both directions. testpmd calls this forwarding.
class ForwardingDevice : public LoopDevice {
 public:
  ForwardingDevice(PortPair ports, unsigned lcore, bool share) : LoopDevice(ports, lcore, share) {}

 protected:
  /// Processes a burst in place. Returns how many frames are left to send.
  virtual std::uint16_t treat(Side out, rte_mbuf** frames, std::uint16_t count) = 0;

 private:
  void loop() final;
  void ask_to_stop() override { stops_.store(true); }

  std::atomic<bool> stops_{false};
};

/// The least work of any box that looks at its frames: it checks each ICRC.
class FloorDevice final : public ForwardingDevice {
 public:
  enum class Icrc : std::uint8_t {
    frozen,  ///< "floor": as when the marks were set, so that the floor stays where it was
    box,     ///< "floor-box-icrc": with the engine's own routine
  };
  FloorDevice(PortPair ports, unsigned lcore, bool share, Icrc icrc);
  ~FloorDevice() override { stop(); }
  std::string name() const override { return icrc_ == Icrc::frozen ? "floor" : "floor-box-icrc"; }
  std::string complaint() const override { return wrong_; }

 private:
  std::uint16_t treat(Side out, rte_mbuf** frames, std::uint16_t count) override;

  const Icrc icrc_;
  std::string wrong_;  ///< says if an ICRC was wrong
};

/// The floor, with the least cost of holding custody: it keeps a reference to each request until `backlog` more have
/// come. It touches as much memory as a box with the same custody, and knows nothing of flows. So its growth with the
/// backlog is the share of the caches.
class BacklogDevice final : public ForwardingDevice {
 public:
  /// `backlog`: how many packets it keeps.
  BacklogDevice(PortPair ports, unsigned lcore, bool share, std::uint32_t backlog);
  ~BacklogDevice() override;
  std::string name() const override { return "floor-backlog"; }
  std::string complaint() const override { return wrong_; }

 private:
  std::uint16_t treat(Side out, rte_mbuf** frames, std::uint16_t count) override;
  void keep(rte_mbuf* frame);

  std::vector<rte_mbuf*> queue_;  ///< a ring; null in places without a packet yet
  std::size_t next_ = 0;          ///< the place of the oldest, which the next one takes
  std::string wrong_;
};

/// dpdk-testpmd's forwarding modes in this process, for machines where the program itself cannot run.
class MacDevice final : public ForwardingDevice {
 public:
  enum class Mode : std::uint8_t {
    swap,  ///< "macswap": exchanges source and destination
    set,   ///< "mac": writes both, as testpmd does without --eth-peer
  };
  MacDevice(PortPair ports, unsigned lcore, bool share, Mode mode);
  ~MacDevice() override { stop(); }
  std::string name() const override { return mode_ == Mode::swap ? "macswap" : "mac"; }
  void rewrite(Side out, std::uint8_t* frame) const override { rewrite(mode_, out, frame); }

  /// The same, for Testpmd.
  static void rewrite(Mode mode, Side out, std::uint8_t* frame);

 private:
  std::uint16_t treat(Side out, rte_mbuf** frames, std::uint16_t count) override;
  Mode mode_;
};

}  // namespace longhaul::bench
