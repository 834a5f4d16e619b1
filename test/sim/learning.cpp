// SPDX-License-Identifier: BSD-3-Clause
// Draws queue pairs between two hosts without RDMA-CM, and looks whether the traffic learner finds out which belong
// together: see --help. Each draw is two hosts with a way of choosing QPNs, PSNs and UDP source ports. Their requests
// and ACKs go past the learner as fast as a round trip allows, some lost, some ACKs for several requests at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include "base/time.hpp"
#include "flow/traffic_learner.hpp"
#include "pools.hpp"
#include "program.hpp"
#include "sim/random.hpp"
#include "sim/source_port.hpp"
#include "wire/builder.hpp"
#include "wire/psn.hpp"
#include "wire/udp_source_port.hpp"

namespace {

using namespace longhaul;
using sim::Random;

struct Options {
  std::uint64_t draws = 20000;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
};

// ---- what hosts do ----------------------------------------------------------------------------

struct QueuePair {
  std::uint32_t requester_qpn = 0;
  std::uint32_t responder_qpn = 0;
  std::uint16_t request_port = 0;
  std::uint16_t answer_port = 0;
  std::uint32_t psn = 0;
};

std::uint16_t dynamic_port(std::uint64_t any) { return static_cast<std::uint16_t>(0xc000 | (any & 0x3fff)); }

/// How hosts choose UDP source ports.
struct PortHabit {
  const char* name;
  const char* source;
  bool derived;  ///< all whose port is unique between the two hosts must be learned
  void (*choose)(QueuePair&, Random&);
};
constexpr PortHabit kPortHabits[] = {
    {"derived", "rdma_get_udp_sport(): irdma, mlx5, mana, hns, ionic, rxe", true,
     [](QueuePair& qp, Random&) {
       qp.request_port = qp.answer_port = wire::derived_udp_source_port(qp.requester_qpn, qp.responder_qpn);
     }},
    {"by flow label", "RDMA-CM's or the application's label, equal at both ends", false,
     [](QueuePair& qp, Random& random) { qp.request_port = qp.answer_port = dynamic_port(random.next()); }},
    {"random", "xsc's driver; mlx5dv_modify_qp_udp_sport()", false,
     [](QueuePair& qp, Random& random) {
       qp.request_port = dynamic_port(random.next());
       qp.answer_port = dynamic_port(random.next());
     }},
    {"own QPN", "rxe before Linux 5.17: hash_32(qpn, 14)", false,
     [](QueuePair& qp, Random&) {
       const auto hash = [](std::uint32_t qpn) { return sim::source_port(sim::SourcePort::own_qpn, qpn, 0, 0); };
       qp.request_port = hash(qp.requester_qpn);
       qp.answer_port = hash(qp.responder_qpn);
     }},
    {"xor of both", "mlx4_qp_roce_entropy(): ConnectX-3", false,
     [](QueuePair& qp, Random&) {
       const auto fold = [](std::uint32_t q) { return ((q & 0xff) ^ (q >> 16 & 0xff)) | (q & 0xff00); };
       qp.request_port = qp.answer_port =
           static_cast<std::uint16_t>(0xc000 | (fold(qp.requester_qpn) ^ fold(qp.responder_qpn)));
     }},
    {"one for all", "RXE_ROCE_V2_SPORT and drivers that set none", false,
     [](QueuePair& qp, Random&) { qp.request_port = qp.answer_port = 0xc000; }},
    {"mixed", "derived, beside an application with flow labels of its own", false,
     [](QueuePair& qp, Random& random) {
       qp.request_port = qp.answer_port = random.chance(1, 2)
                                              ? wire::derived_udp_source_port(qp.requester_qpn, qp.responder_qpn)
                                              : dynamic_port(random.next());
     }},
    {"half derived", "derived, beside ports set by mlx5dv_modify_qp_udp_sport()", false,
     [](QueuePair& qp, Random& random) {
       const bool set = random.chance(1, 2);
       const std::uint16_t derived = wire::derived_udp_source_port(qp.requester_qpn, qp.responder_qpn);
       qp.request_port = set ? dynamic_port(random.next()) : derived;
       qp.answer_port = set ? dynamic_port(random.next()) : derived;
     }},
    {"one side derived", "a NIC of another make at the responder", false,
     [](QueuePair& qp, Random& random) {
       qp.request_port = wire::derived_udp_source_port(qp.requester_qpn, qp.responder_qpn);
       qp.answer_port = dynamic_port(random.next());
     }},
};

constexpr unsigned kCounts[] = {4, 16, 512};

/// QPNs of one host, as its NIC gives them out.
std::vector<std::uint32_t> draw_qpns(unsigned count, Random& random) {
  std::vector<std::uint32_t> qpns(count);
  const bool consecutive = random.chance(2, 3);
  // rxe begins at 17, mlx5 gives out numbers with gaps.
  const auto first = static_cast<std::uint32_t>(random.chance(1, 3) ? 17 : random.between(2, (1 << 24) - (1 << 13)));
  const auto step = static_cast<std::uint32_t>(random.pick({1, 1, 1, 2, 8}));
  for (unsigned i = 0; i < count; ++i)
    qpns[i] = consecutive ? first + i * step : static_cast<std::uint32_t>(random.between(2, (1 << 24) - 2));
  std::sort(qpns.begin(), qpns.end());
  for (unsigned i = 1; i < count; ++i) qpns[i] = std::max(qpns[i], qpns[i - 1] + 1);
  return qpns;
}

/// Which responder each requester has: in order, as a ring, or any.
std::vector<unsigned> draw_partners(unsigned count, Random& random) {
  std::vector<unsigned> partners(count);
  std::iota(partners.begin(), partners.end(), 0);
  const auto shift = random.below(3);
  if (shift < 2) {
    std::rotate(partners.begin(), partners.begin() + static_cast<std::ptrdiff_t>(shift), partners.end());
    return partners;
  }
  for (unsigned i = count; i > 1; --i) std::swap(partners[i - 1], partners[random.below(i)]);
  return partners;
}

std::vector<QueuePair> draw_queue_pairs(unsigned count, const PortHabit& habit, bool psn_zero, Random& random) {
  const auto requesters = draw_qpns(count, random);
  const auto responders = random.chance(1, 3) ? requesters : draw_qpns(count, random);
  const auto partners = draw_partners(count, random);
  std::vector<QueuePair> all(count);
  for (unsigned i = 0; i < count; ++i) {
    all[i].requester_qpn = requesters[i];
    all[i].responder_qpn = responders[partners[i]];
    all[i].psn = psn_zero ? 0 : static_cast<std::uint32_t>(random.below(1 << 24));
    habit.choose(all[i], random);
  }
  return all;
}

// ---- frames -----------------------------------------------------------------------------------

/// A frame whose numbers change. The learner's caller checks ICRCs, so these have none that fit.
class Template {
 public:
  Template(wire::PacketBuilder builder) : bytes_(builder.build()) {
    if (!wire::is_roce(wire::parse(bytes_, frame_))) throw std::logic_error("a frame of this program does not parse");
  }
  void hosts(const wire::IpAddress& source, const wire::IpAddress& destination) {
    frame_.source = source;
    frame_.destination = destination;
  }
  const wire::Frame& with(std::uint32_t qpn, std::uint32_t psn, std::uint16_t port, std::uint32_t msn = 0) {
    auto& bth = *reinterpret_cast<wire::Bth*>(bytes_.data() + frame_.bth_offset);
    bth.destination_qpn = qpn;
    bth.psn = psn;
    reinterpret_cast<wire::UdpHeader*>(bytes_.data() + frame_.udp_offset)->source_port = port;
    if (frame_.opcode->has(wire::kHasAeth))
      reinterpret_cast<wire::Aeth*>(bytes_.data() + frame_.extended_offset(wire::kHasAeth))->msn = msn;
    return frame_;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  wire::Frame frame_;
};

// ---- a draw -----------------------------------------------------------------------------------

/// What the draws of one kind showed.
struct Row {
  std::uint64_t draws = 0;
  std::uint64_t queue_pairs = 0;
  std::uint64_t unique = 0;  ///< queue pairs whose request port no other between the two hosts has
  std::uint64_t learned = 0;
  std::uint64_t learned_unique = 0;  ///< of `unique`
  std::uint64_t missed = 0;          ///< of `unique`, not learned, though ports are derived and nothing was lost
  std::uint64_t wrong = 0;           ///< learned with a requester or responder that is another's
  Duration latest = 0;               ///< from a queue pair's first request until it was learned, at most

  void add(const Row& other) {
    draws += other.draws;
    queue_pairs += other.queue_pairs;
    unique += other.unique;
    learned += other.learned;
    learned_unique += other.learned_unique;
    missed += other.missed;
    wrong += other.wrong;
    latest = std::max(latest, other.latest);
  }
};

constexpr Duration kRoundTrip = milliseconds(10);
constexpr Duration kFrameTime = 80;  // of one frame, at 10 Gbit/s
constexpr unsigned kRounds = 3;

/// A draw's life: three round trips, in each of which every queue pair that is awake sends a few WRITEs.
class Draw {
 public:
  Draw(flow::TrafficLearner& learner, Time& now, std::vector<QueuePair> all, Random& random)
      : learner_(learner), now_(now), all_(std::move(all)), random_(random), states_(all_.size()) {}

  Row run(const wire::IpAddress& requester, const wire::IpAddress& responder) {
    static Template request(wire::PacketBuilder().opcode(wire::kRcWriteOnly).qpn(1).ack_req().payload_size(64));
    static Template answer(wire::PacketBuilder().opcode(wire::kRcAcknowledge).qpn(1).aeth(0x1f, 0));
    request.hosts(requester, responder);
    answer.hosts(responder, requester);
    const auto messages = static_cast<unsigned>(random_.between(2, 4));
    lossy_ = random_.chance(1, 4);
    const bool coalesces = random_.chance(1, 4);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned m = 0; m < messages; ++m)
        for (unsigned i = 0; i < all_.size(); ++i) {
          State& state = states_[i];
          if (state.learned) continue;
          if (state.sent == 0) state.began = now_;
          if (lossy_ && random_.chance(1, 100)) continue;  // lost before the box; its turn comes again
          ++state.sent;
          learner_.request(
              request.with(all_[i].responder_qpn, wire::psn_add(all_[i].psn, state.sent - 1), all_[i].request_port),
              now_);
          now_ += kFrameTime;
        }
      now_ += kRoundTrip;
      for (unsigned m = 0; m < messages; ++m)
        for (unsigned i = 0; i < all_.size(); ++i) {
          State& state = states_[i];
          if (state.answered == state.sent) continue;
          ++state.answered;
          if (coalesces && m % 2 == 0 && m + 1 < messages) continue;
          acknowledge(answer, i);
          now_ += kFrameTime;
        }
    }
    return row();
  }

  /// Some requests were lost before the box: it counts anew from there.
  bool lossy() const { return lossy_; }

 private:
  struct State {
    Time began = 0;
    std::uint32_t sent = 0;
    std::uint32_t answered = 0;
    bool learned = false;
    bool wrong = false;
  };

  void acknowledge(Template& answer, unsigned i) {
    const QueuePair& qp = all_[i];
    State& state = states_[i];
    if (state.learned) return;  // the box knows the requester's QPN, and the learner does not see its answers
    const flow::TrafficOutcome outcome = learner_.answer(
        answer.with(qp.requester_qpn, wire::psn_add(qp.psn, state.answered - 1), qp.answer_port, state.answered), now_);
    if (outcome.event != flow::TrafficEvent::learned) return;
    learner_.forget(outcome.info);
    state.learned = true;
    state.wrong =
        outcome.info.end(Side::host).qpn != qp.requester_qpn || outcome.info.end(Side::wan).qpn != qp.responder_qpn;
    latest_ = std::max(latest_, now_ - state.began);
  }

  Row row() const {
    Row row;
    row.draws = 1;
    row.queue_pairs = all_.size();
    row.latest = latest_;
    std::map<std::uint16_t, unsigned> users;
    for (const QueuePair& qp : all_) ++users[qp.request_port];
    for (unsigned i = 0; i < all_.size(); ++i) {
      const bool unique = users[all_[i].request_port] == 1;
      row.unique += unique ? 1 : 0;
      row.learned += states_[i].learned ? 1 : 0;
      row.learned_unique += unique && states_[i].learned ? 1 : 0;
      row.wrong += states_[i].wrong ? 1 : 0;
    }
    return row;
  }

  flow::TrafficLearner& learner_;
  Time& now_;
  std::vector<QueuePair> all_;
  Random& random_;
  std::vector<State> states_;
  Duration latest_ = 0;
  bool lossy_ = false;
};

/// By habit, number of queue pairs, and whether all begin at PSN 0.
using Table = std::array<std::array<std::array<Row, 2>, std::size(kCounts)>, std::size(kPortHabits)>;

/// Draws of one job: the same learner sees one after the other, between other hosts.
void work(const Options& options, unsigned job, Table& table) {
  flow::TrafficLearner learner(2048);
  Time now = seconds(100);
  learner.began(now);
  now += flow::TrafficLearner::kBlind;
  for (std::uint64_t i = job; i < options.draws; i += options.jobs) {
    Random random(options.seed + i, 0, 0);
    const auto habit = random.below(std::size(kPortHabits) + 3);  // derived ports more often
    const std::size_t h = habit < std::size(kPortHabits) ? habit : 0;
    const std::size_t c = random.chance(1, 40) ? 2 : random.below(2);
    const bool zero = random.chance(1, 2);
    wire::IpAddress requester = wire::IpAddress::parse("10.0.0.1");
    wire::IpAddress responder = wire::IpAddress::parse("10.0.0.2");
    // Bytes 12 to 14 of a mapped address are free: other hosts in each draw.
    for (wire::IpAddress* ip : {&requester, &responder}) {
      ip->bytes[13] = static_cast<std::uint8_t>(i >> 16);
      ip->bytes[14] = static_cast<std::uint8_t>(i >> 8);
    }
    requester.bytes[15] = static_cast<std::uint8_t>(i);
    Draw draw(learner, now, draw_queue_pairs(kCounts[c], kPortHabits[h], zero, random), random);
    Row row = draw.run(requester, responder);
    if (kPortHabits[h].derived && !draw.lossy()) row.missed = row.unique - row.learned_unique;
    if (row.wrong != 0) {
      fmt::print("seed {}: {} learned wrongly\n", options.seed + i, row.wrong);
      std::fflush(stdout);
    }
    table[h][c][zero ? 1 : 0].add(row);
    now += seconds(2);  // the candidates that are left are idle now, and give up their places
  }
}

int run(const Options& options) {
  test::sim_pools();  // the EAL
  auto table = std::make_unique<Table>();
  test::run_jobs(
      options.jobs,
      [&](unsigned job, int pipe) {
        auto part = std::make_unique<Table>();
        work(options, job, *part);
        test::write_all(pipe, part.get(), sizeof(*part));
      },
      [&](int pipe) {
        auto part = std::make_unique<Table>();
        test::read_all(pipe, part.get(), sizeof(*part));
        for (std::size_t h = 0; h < part->size(); ++h)
          for (std::size_t c = 0; c < std::size(kCounts); ++c)
            for (std::size_t z = 0; z < 2; ++z) (*table)[h][c][z].add((*part)[h][c][z]);
      });
  Row all;
  fmt::print("{:<17} {:>4} {:>7} {:>8} {:>10} {:>8} {:>9} {:>9} {:>7}\n", "ports", "QPs", "PSNs", "draws", "QPs drawn",
             "learned", "of unique", "latest ms", "wrong");
  for (std::size_t h = 0; h < table->size(); ++h)
    for (std::size_t c = 0; c < std::size(kCounts); ++c)
      for (std::size_t z = 0; z < 2; ++z) {
        const Row& row = (*table)[h][c][z];
        if (row.draws == 0) continue;
        const auto percent = [](std::uint64_t part, std::uint64_t whole) {
          return whole == 0 ? std::string("-")
                            : fmt::format("{:.3f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
        };
        fmt::print("{:<17} {:>4} {:>7} {:>8} {:>10} {:>8} {:>9} {:>9.1f} {:>7}\n", kPortHabits[h].name, kCounts[c],
                   z == 1 ? "0" : "random", row.draws, row.queue_pairs, percent(row.learned, row.queue_pairs),
                   percent(row.learned_unique, row.unique), static_cast<double>(row.latest) / 1e6, row.wrong);
        all.add(row);
      }
  fmt::print(
      "{} draws, {} queue pairs: {} learned, {} of them wrongly\n"
      "of those whose derived port is unique, {} were not learned\n",
      all.draws, all.queue_pairs, all.learned, all.wrong, all.missed);
  return all.wrong != 0 || all.missed != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Draws queue pairs between two hosts that use no RDMA-CM, and shows how many of them the box learns from "
      "their traffic within three round trips of 10 ms, and whether it ever takes two for one that are not. "
      "Half of the draws begin all at PSN 0 and go on in step, as those of NCCL and UCX do. A quarter of the "
      "draws loses 1 % of the requests before the box. Exit code 1: something was learned wrongly, or was not "
      "learned though its port was derived from both QPNs, no other queue pair had it, and nothing was lost.");
  app.add_option("--draws", options.draws, "How many pairs of hosts")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first draw; the next one has the next seed")->capture_default_str();
  app.add_option("--jobs", options.jobs, "Processes side by side")->capture_default_str();
  return test::run_program(app, argc, argv, [&] { return run(options); });
}
