// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/devices.hpp"

#include <fmt/format.h>
#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "test/bench/frozen_icrc.hpp"
#include "wire/icrc.hpp"

namespace longhaul::bench {

namespace {

constexpr std::uint16_t kBurst = app::BoxLoop::kBurst;

// Without --eth-peer, testpmd sends to 02:00:00:00:00:PORT. A ring port's own address is zero.
constexpr std::uint8_t kPeerMac[] = {0x02, 0, 0, 0, 0};

}  // namespace

// ---- loops ------------------------------------------------------------------------------------

LoopDevice::LoopDevice(PortPair ports, unsigned lcore, bool share)
    : metered_{{{ports.host, meter_}, {ports.wan, meter_}}}, lcore_(lcore), share_(share) {
  meter_.set_yielding(share);
}

int LoopDevice::run(void* self) {
  static_cast<LoopDevice*>(self)->loop();
  return 0;
}

void LoopDevice::launch() {
  if (rte_eal_remote_launch(&LoopDevice::run, this, lcore_) != 0)
    throw std::runtime_error(fmt::format("lcore {} is not there or busy", lcore_));
}

void LoopDevice::stop() {
  ask_to_stop();
  resume();
  rte_eal_wait_lcore(lcore_);
}

std::optional<Device::Work> LoopDevice::done() {
  const auto reading = meter_.reading();
  if (!reading) return std::nullopt;
  return Work{reading->busy};
}

// ---- the box ----------------------------------------------------------------------------------

namespace {

app::BoxLoopOptions options_with(app::Orders& orders) {
  app::BoxLoopOptions options;
  options.orders = &orders;
  return options;
}

app::Orders::Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(1); }

}  // namespace

BoxDevice::BoxDevice(PortPair ports, unsigned lcore, bool share, const engine::Settings& settings,
                     const engine::Pools& pools, const drivers::Clock& clock, bool with_record)
    : LoopDevice(ports, lcore, share),
      sink_(ports.host, ports.wan),
      record_(with_record ? settings.max_connections : 0),
      worker_(settings, {sink_, pools}, clock.now()),
      box_loop_(worker_, port(Side::host), port(Side::wan), clock, options_with(orders_)) {
  if (with_record) worker_.engine().use_record(record_, clock.now());
  launch();
}

void BoxDevice::ask_to_stop() {
  requests_.stops.store(2);  // at once
}

ScrapedBoxDevice::ScrapedBoxDevice(PortPair ports, unsigned lcore, bool share, const engine::Settings& settings,
                                   const engine::Pools& pools, const drivers::Clock& clock)
    : BoxDevice(ports, lcore, share, settings, pools, clock), thread_([this] { scrape(); }) {}

ScrapedBoxDevice::~ScrapedBoxDevice() {
  done_ = true;
  thread_.join();
}

void ScrapedBoxDevice::scrape() {
  for (unsigned n = 0; !done_; ++n) {
    try {
      report();
      if (n % 10 == 0) survey();
    } catch (const app::WorkerSilent&) {  // the device has no turn, and is held between two chunks
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1'000'000 / kPerSecond));
  }
}

void ScrapedBoxDevice::report() {
  const auto report = std::make_shared<expose::WorkerReport>();
  const auto deadline = soon();
  orders().wait(orders().post(
                    [report](app::WorkerAccess& access) {
                      *report = expose::WorkerReport(access.worker, access.activity);
                      return true;
                    },
                    deadline),
                deadline);
}

void ScrapedBoxDevice::survey() {
  constexpr std::uint32_t kPortion = 64;
  const auto slots = std::make_shared<std::uint32_t>(1);
  for (std::uint32_t first = 0; first < *slots && !done_; first += kPortion) {
    const auto connections = std::make_shared<std::vector<engine::ConnectionState>>();
    connections->reserve(kPortion);
    const auto deadline = soon();
    orders().wait(orders().post(
                      [slots, connections, first](app::WorkerAccess& access) {
                        *slots = access.engine.connection_slots();
                        access.engine.describe(first, kPortion, access.now, *connections);
                        return true;
                      },
                      deadline),
                  deadline);
  }
}

std::string complaint_of(const engine::Engine& engine) {
  if (engine.custody_packets() != 0)
    return fmt::format("the box holds {} packets though all were answered", engine.custody_packets());
  for (const Counter counter :
       {Counter::icrc_bad, Counter::header_checksum_bad, Counter::resends, Counter::pseudo_acks_withheld,
        Counter::pseudo_acks_repeated, Counter::pseudo_naks, Counter::plain_requests, Counter::made_frames_lost,
        Counter::small_buffers_exhausted, Counter::dropped_port_full})
    if (engine.counters()[counter] != 0)
      return fmt::format("the box counted {} {}", engine.counters()[counter],
                         metrics::kCounterInfo[static_cast<std::size_t>(counter)].name);
  return {};
}

// ---- the references ---------------------------------------------------------------------------

void ForwardingDevice::loop() {
  std::array<rte_mbuf*, kBurst> frames;
  while (!stops_.load(std::memory_order_relaxed)) {
    for (const Side in : {Side::host, Side::wan}) {
      const Side out = other(in);
      std::uint16_t count = port(in).receive(frames.data(), kBurst);
      if (count == 0) continue;
      count = treat(out, frames.data(), count);
      const std::uint16_t sent = port(out).transmit(frames.data(), count);
      if (sent < count) rte_pktmbuf_free_bulk(frames.data() + sent, count - sent);
    }
  }
}

FloorDevice::FloorDevice(PortPair ports, unsigned lcore, bool share, Icrc icrc)
    : ForwardingDevice(ports, lcore, share), icrc_(icrc) {
  launch();
}

namespace {

// Says in `wrong` what is wrong with the burst.
template <bool (*Verify)(const wire::Frame&) noexcept>
void check_icrcs(rte_mbuf** frames, std::uint16_t count, std::string& wrong) {
  // Fetches as far ahead as the engine does.
  constexpr std::uint16_t kMbufsAhead = 8;
  constexpr std::uint16_t kAhead = 3;
  constexpr std::uint32_t kBytes = 10 * RTE_CACHE_LINE_SIZE;
  for (std::uint16_t i = 0; i < std::min(count, kMbufsAhead); ++i) rte_prefetch0(frames[i]);
  for (std::uint16_t i = 0; i < count; ++i) {
    if (i + kMbufsAhead < count) rte_prefetch0(frames[i + kMbufsAhead]);
    if (i + kAhead < count) {
      const char* bytes = rte_pktmbuf_mtod(frames[i + kAhead], const char*);
      const std::uint32_t end = std::min<std::uint32_t>(frames[i + kAhead]->data_len, kBytes);
      for (std::uint32_t offset = 0; offset < end; offset += RTE_CACHE_LINE_SIZE) rte_prefetch0(bytes + offset);
    }
    wire::Frame frame;
    if (wire::parse({rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len}, frame) ==
            wire::ParseStatus::roce &&
        !Verify(frame))
      wrong = "a frame came in with a wrong ICRC";
  }
}

}  // namespace

std::uint16_t FloorDevice::treat(Side, rte_mbuf** frames, std::uint16_t count) {
  if (icrc_ == Icrc::frozen)
    check_icrcs<frozen_verify_icrc>(frames, count, wrong_);
  else
    check_icrcs<wire::verify_icrc>(frames, count, wrong_);
  return count;
}

BacklogDevice::BacklogDevice(PortPair ports, unsigned lcore, bool share, std::uint32_t backlog)
    : ForwardingDevice(ports, lcore, share), queue_(std::max(backlog, 1u)) {
  launch();
}

BacklogDevice::~BacklogDevice() {
  stop();
  for (rte_mbuf* mbuf : queue_) rte_pktmbuf_free(mbuf);
}

std::uint16_t BacklogDevice::treat(Side out, rte_mbuf** frames, std::uint16_t count) {
  check_icrcs<frozen_verify_icrc>(frames, count, wrong_);
  if (out == Side::wan)
    for (std::uint16_t i = 0; i < count; ++i) keep(frames[i]);
  return count;
}

void BacklogDevice::keep(rte_mbuf* frame) {
  constexpr std::size_t kAhead = 8;
  if (next_ + kAhead < queue_.size() && queue_[next_ + kAhead] != nullptr) rte_prefetch0(queue_[next_ + kAhead]);
  rte_pktmbuf_free(queue_[next_]);  // does nothing for null
  rte_mbuf_refcnt_update(frame, 1);
  queue_[next_] = frame;
  if (++next_ == queue_.size()) next_ = 0;
}

MacDevice::MacDevice(PortPair ports, unsigned lcore, bool share, Mode mode)
    : ForwardingDevice(ports, lcore, share), mode_(mode) {
  launch();
}

std::uint16_t MacDevice::treat(Side out, rte_mbuf** frames, std::uint16_t count) {
  constexpr std::uint16_t kAhead = 4;
  for (std::uint16_t i = 0; i < std::min(count, kAhead); ++i) rte_prefetch0(rte_pktmbuf_mtod(frames[i], void*));
  for (std::uint16_t i = 0; i < count; ++i) {
    if (i + kAhead < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + kAhead], void*));
    rewrite(mode_, out, rte_pktmbuf_mtod(frames[i], std::uint8_t*));
    frames[i]->l2_len = sizeof(rte_ether_hdr);
    frames[i]->l3_len = sizeof(std::uint32_t) * 5;
  }
  return count;
}

void MacDevice::rewrite(Mode mode, Side out, std::uint8_t* frame) {
  auto* ethernet = reinterpret_cast<rte_ether_hdr*>(frame);
  if (mode == Mode::swap) {
    const rte_ether_addr source = ethernet->src_addr;
    ethernet->src_addr = ethernet->dst_addr;
    ethernet->dst_addr = source;
  } else {
    std::memcpy(&ethernet->dst_addr, kPeerMac, sizeof(kPeerMac));
    ethernet->dst_addr.addr_bytes[5] = static_cast<std::uint8_t>(out);
    ethernet->src_addr = {};
  }
}

}  // namespace longhaul::bench
