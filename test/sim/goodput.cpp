// SPDX-License-Identifier: BSD-3-Clause
// What a long haul that loses packets carries: one run in virtual time, with the real engine in the boxes and the judge
// of the random worlds, as one line of JSON. goodput_table.py makes the table of docs/records/goodput-*.md from many.
#include <rte_mbuf.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/eal.hpp"
#include "engine/pools.hpp"
#include "program.hpp"
#include "sim/frames.hpp"
#include "sim/world.hpp"

namespace {

using namespace longhaul;

struct Question {
  std::string way = "pair";
  std::uint64_t rtt_us = 1000;
  std::uint64_t loss_ppm = 0;
  std::uint64_t burst = 0;       ///< frames lost in a row, at most; 0: independent losses
  std::uint64_t reorder_us = 0;  ///< 1 % of frames come so much later
  std::uint64_t message = 4096;
  std::uint64_t mtu = 4096;
  std::uint64_t qps = 1;
  std::uint64_t mbps = 100'000;
  std::uint64_t packets = 0;  ///< of all QPs
  std::uint64_t seed = 1;
  bool read = false;
  bool counters = false;
  std::string given;
};

constexpr std::uint64_t kOverhead = 24;  // of Ethernet, beside the frame
constexpr std::uint64_t kHeaders = 14 + 20 + 8 + 12 + 4;
constexpr std::uint64_t kReth = 16;
constexpr std::uint64_t kReadsUnderWay = 16;  // of a queue pair

std::uint64_t bandwidth_delay(const Question& q) { return q.mbps * q.rtt_us / 8; }

std::uint64_t packets_of(const Question& q) { return (q.message + q.mtu - 1) / q.mtu; }

/// Bytes that a message takes of the line.
std::uint64_t line_bytes(const Question& q) {
  return q.message + packets_of(q) * (kHeaders + kOverhead) + (q.read ? 4 : kReth);
}

sim::Case case_of(const Question& q) {
  sim::Case c;
  c.seed = q.seed;
  c.connections = q.qps;
  c.apart_us = 0;
  c.psns_apart = 100'000;
  c.line_overhead = kOverhead;
  c.wan_mbps = q.mbps;
  c.wan_delay_us = q.rtt_us / 2;
  c.wan_queue = std::max<std::uint64_t>(64 << 20, 2 * bandwidth_delay(q));
  c.local_ns = 1000;
  c.mtu = 1;
  while ((128u << c.mtu) < q.mtu) ++c.mtu;
  c.starts_us = 400'000 + 10 * q.rtt_us;  // the peers are up by then
  c.dreq_hold_ms = 10'000;
  c.close = 0;
  for (auto& way : c.harm[sim::kLongHaul]) {
    if (q.burst == 0) {
      way.loss_ppm = q.loss_ppm;
    } else {
      // A burst has 1 to `burst` frames.
      way.burst = std::max<std::uint64_t>(1, q.loss_ppm * 2 / (q.burst + 1) / 100);
      way.burst_frames = q.burst;
    }
    if (q.reorder_us != 0) way.reorder = 100, way.reorder_us = q.reorder_us;
  }
  sim::HostPlan& a = c.a;
  a.messages = std::max<std::uint64_t>(1, q.packets / packets_of(q) / q.qps);
  a.mix = sim::number_of(q.read ? sim::Mix::read_only : sim::Mix::write_only);
  a.max_bytes = q.message;
  a.uniform = 1;
  a.warm_up = 1;  // as perftest: the flow was answered once when the measurement begins
  a.depth = 128;
  if (q.read) a.depth = a.initiator_depth = kReadsUnderWay;
  a.window = 1 << 22;
  a.burst = 1;
  a.ack_timeout_us = std::max<std::uint64_t>(67'108, 4 * q.rtt_us);
  a.port_mbps = c.b.port_mbps = q.mbps;
  c.b.initiator_depth = a.initiator_depth;
  for (sim::BoxPlan* box : {&c.box_a, &c.box_b}) {
    box->present = q.way == "standard" ? 0 : 1;
    box->peer = sim::number_of(q.way == "pair" ? sim::BoxPeer::peer : sim::BoxPeer::none);
    box->box_bytes = box->flow_bytes = 4 * bandwidth_delay(q) + (8 << 20);
    box->window_bytes = std::max<std::uint64_t>(1 << 20, 2 * bandwidth_delay(q) / q.qps);
    box->wan_mbps = q.mbps;
    box->mbufs = 1 << 20;
  }
  return sim::parse_case(q.given, c);
}

double quantile(std::vector<Duration>& of, double q) {
  if (of.empty()) return 0;
  const auto at = of.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(of.size() - 1));
  std::nth_element(of.begin(), at, of.end());
  return static_cast<double>(*at) / 1e3;
}

/// How long packets take from their first sending to the port of the host for which they are: requests to b, or READ
/// responses to a.
class Delays {
 public:
  explicit Delays(bool read) : read_(read) {}

  void see(Duration at, const char* where, const sim::View& view) {
    if (!view.reliable() || view.frame.opcode == nullptr) return;
    if (read_ != (view.frame.opcode->operation == wire::Operation::read_response)) return;
    const std::string_view place = where;
    const std::uint64_t key = std::uint64_t{view.frame.destination_qpn()} << 32 | view.frame.psn();
    if (place == (read_ ? "  < boxB" : "  boxA >")) {
      ++sent_;
      if (!first_.emplace(key, at).second) ++again_;
    } else if (place == (read_ ? "  boxA <" : "  > boxB")) {
      ++came_;
    } else if (place == (read_ ? "  < boxA" : "  boxB >")) {
      const auto found = first_.find(key);
      if (found != first_.end() && found->second != kSeen) {
        took_.push_back(at - found->second);
        found->second = kSeen;
        handed_.push_back(at);
      }
    }
  }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t again() const { return again_; }
  /// To the far box.
  std::uint64_t came() const { return came_; }
  std::vector<Duration>& took() { return took_; }
  /// Packets in a second, from a fifth of all until nine tenths: not the start, and not those flows that RDMA-CM had to
  /// begin later because its messages were lost.
  double rate() const {
    const std::size_t from = handed_.size() / 5;
    const std::size_t to = handed_.size() * 9 / 10;
    if (to <= from || handed_[to] <= handed_[from]) return 0;
    return static_cast<double>(to - from) / (static_cast<double>(handed_[to] - handed_[from]) / 1e9);
  }

  /// Different packets, to the host.
  std::uint64_t handed() const { return handed_.size(); }
  Duration last_handed() const { return handed_.empty() ? 0 : handed_.back(); }

 private:
  static constexpr Duration kSeen = kNever;
  bool read_;
  std::unordered_map<std::uint64_t, Duration> first_;
  std::vector<Duration> took_;
  std::vector<Duration> handed_;  ///< when
  std::uint64_t sent_ = 0;
  std::uint64_t again_ = 0;
  std::uint64_t came_ = 0;
};

engine::Pools pools_for(const Question& q) {
  // What a responder has been asked for waits at its port, too.
  const std::uint64_t asked = q.read ? kReadsUnderWay * q.qps * packets_of(q) : 0;
  const std::uint64_t on_the_way = bandwidth_delay(q) * packets_of(q) / line_bytes(q);
  const std::uint64_t under_way = std::min(q.packets, std::max(asked, on_the_way)) + 1000;
  static drivers::EalOptions options;
  options.program = "goodput";
  options.hugepages = false;
  const std::uint64_t frame = std::max<std::uint64_t>(512, q.mtu + 128 + 192);
  const std::uint64_t frames = 8 * under_way + 20'000;
  options.memory_bytes = frames * (frame + 400) + frames * 700 + (600ull << 20);
  static const drivers::Eal eal(options);
  engine::PoolPlan plan;
  plan.name = "goodput";
  plan.frame_bytes = static_cast<std::uint32_t>(frame);
  plan.frames = static_cast<std::uint32_t>(frames);
  plan.small_frames = static_cast<std::uint32_t>(2 * under_way + 20'000);
  return engine::Pools::create(plan);
}

int run(Question q) {
  if (q.packets == 0)
    q.packets = std::max<std::uint64_t>(50'000, 20 * bandwidth_delay(q) * packets_of(q) / line_bytes(q));
  const engine::Pools pools = pools_for(q);
  const sim::Case c = case_of(q);
  Delays delays(q.read);
  sim::World world(c, pools,
                   [&delays](Duration at, const char* where, const sim::View& view) { delays.see(at, where, view); });
  const sim::Result result = world.run(100'000'000 + 100 * q.packets);
  if (result.violation) {
    fmt::print(stderr, "goodput: {}\n(world: {})\n", result.violation->text, sim::to_text(c));
    return 1;
  }
  Duration took = 0;
  bool all = true;
  for (const sim::Delivery& delivery : result.deliveries) {
    if (delivery.host != 0) continue;
    took = std::max(took, delivery.took);
    all = all && delivery.accepted;
  }
  // A responder has accepted a READ when its data has not left yet.
  if (q.read) {
    took = delays.last_handed() - microseconds(c.starts_us);
    all = all && delays.handed() >= c.a.messages * q.qps * packets_of(q);
  }
  const double seconds = static_cast<double>(took) / 1e9;
  const double payload = static_cast<double>(q.message * c.a.messages * q.qps) * 8;
  const double line =
      static_cast<double>(q.mbps) * 1e6 * static_cast<double>(q.message) / static_cast<double>(line_bytes(q));
  const auto count = [&world](unsigned box, Counter counter) { return world.count(box, counter); };
  const std::uint64_t lost = result.totals.lost + result.totals.burst_lost;
  nlohmann::ordered_json out = {
      {"way", q.way},
      {"operation", q.read ? "read" : "write"},
      {"rtt_us", q.rtt_us},
      {"loss_ppm", q.loss_ppm},
      {"burst", q.burst},
      {"reorder_us", q.reorder_us},
      {"message", q.message},
      {"qps", q.qps},
      {"accepted", all},
      {"seconds", seconds},
      {"gbps", payload / seconds / 1e9},
      {"of_line", payload / seconds / line},
      {"of_line_steady",
       delays.rate() / (line / 8 / static_cast<double>(q.message) * static_cast<double>(packets_of(q)))},
      {"lost", lost},
      {"lost_requests", delays.sent() - std::min(delays.sent(), delays.came())},
      {"sent", delays.sent()},
      {"sent_again", delays.again()},
      {"repairs", q.read ? count(1, Counter::answer_repairs) : count(0, Counter::repairs)},
      {"copies", q.read ? count(1, Counter::answer_repair_copies) : count(0, Counter::repair_copies)},
      {"waited_in_vain", count(0, Counter::answers_waited_in_vain)},
      {"not_kept", count(1, Counter::answers_not_kept)},
      {"far_gaps", count(1, Counter::far_gaps)},
      {"far_given_up", count(1, Counter::far_gaps_given_up)},
      {"far_full", count(1, Counter::dropped_far_full)},
      {"naks", count(0, Counter::real_naks)},
      {"timeouts", count(0, Counter::resends_timer)},
      {"plain", count(0, Counter::plain_requests)},
      {"near_bdp", static_cast<double>(world.box(0).peak_custody_bytes()) / static_cast<double>(bandwidth_delay(q))},
      {"far_bdp", static_cast<double>(world.box(1).peak_far_bytes()) / static_cast<double>(bandwidth_delay(q))},
      {"own_a", count(0, Counter::own_frames)},
      {"own_b", count(1, Counter::own_frames)},
      {"p50_us", quantile(delays.took(), 0.5)},
      {"p97_us", quantile(delays.took(), 0.97)},
      {"p99_us", quantile(delays.took(), 0.99)},
      {"p999_us", quantile(delays.took(), 0.999)},
  };
  if (q.counters)
    for (const unsigned box : {0u, 1u})
      for (std::size_t i = 0; i < metrics::kCounterCount; ++i)
        if (const std::uint64_t value = count(box, static_cast<Counter>(i)); value != 0)
          out[box == 0 ? "box_a" : "box_b"][std::string(metrics::kCounterInfo[i].name)] = value;
  fmt::print("{}\n", out.dump());
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What a long haul that loses packets carries: one run in virtual time, as a line of JSON.", "goodput");
  Question q;
  app.add_option("--way", q.way, "standard, alone or pair")->check(CLI::IsMember({"standard", "alone", "pair"}));
  app.add_option("--rtt", q.rtt_us, "round trip of the long haul, us");
  app.add_option("--loss", q.loss_ppm, "frames lost of a million, each way");
  app.add_option("--burst", q.burst, "they are lost in bursts of up to so many");
  app.add_option("--reorder", q.reorder_us, "1 % of frames come so much later, us");
  app.add_option("--message", q.message, "bytes");
  app.add_option("--mtu", q.mtu, "path MTU, bytes");
  app.add_option("--qps", q.qps, "queue pairs");
  app.add_option("--rate", q.mbps, "of the line, Mbit/s");
  app.add_option("--packets", q.packets, "of all queue pairs (default: 20 round trips' worth, 50,000 at least)");
  app.add_option("--seed", q.seed, "of chance");
  app.add_flag("--read", q.read, "READs, 16 outstanding on each queue pair");
  app.add_flag("--counters", q.counters, "all counters of both boxes that are not 0");
  app.add_option("--given", q.given, "changes of the case, as text (lib/sim/case.hpp)");
  return test::run_program(app, argc, argv, [&] { return run(q); });
}
