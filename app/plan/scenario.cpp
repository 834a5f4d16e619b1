// SPDX-License-Identifier: BSD-3-Clause
#include "app/plan/scenario.hpp"

namespace longhaul::app {

PlanScenario::PlanScenario() {
  deep_.depth = 2048;
  deep_.nic_depth = 16384;
}

void PlanScenario::add_to(CLI::App& command) {
  plan::Hosts& hosts = scenario_.hosts;
  const auto number = [&command](const char* name, std::uint32_t& value, const std::string& help) {
    return command.add_option(name, value, help)->type_name("N")->check(CLI::Range(1u, 1u << 24));
  };
  const auto time = [&command](const char* name, std::string& value, const std::string& help) {
    return command.add_option(name, value, help)->type_name("TIME");
  };
  link_.add_to(command, "; several are rows");
  command.add_option("--message", messages_, "message sizes")->type_name("SIZE...");
  add_operation(command, scenario_.operation);
  add_path_mtu(command, hosts.path_mtu);
  number("--qps", hosts.qps, "queue pairs (default 1)");
  number("--depth", hosts.depth, "work requests posted on a QP (default 128; perftest -t)");
  number("--moderation", hosts.moderation, "a completion of every nth only (default 1; perftest -Q)");
  command
      .add_option("--nic-depth", hosts.nic_depth,
                  "work requests of a QP in the NIC, 2^LOG_MAX_OUTSTANDING_WQE (default 0: all that are posted)")
      ->type_name("N");
  number("--read-depth", hosts.read_depth, "READs of a QP without an answer (default 16; max_qp_rd_atom)");
  number("--deep-depth", deep_.depth, "of the deep queues: posted (default 2048)");
  command
      .add_option("--deep-nic-depth", deep_.nic_depth,
                  "of the deep queues: in the NIC (default 16384; 0: all that are posted)")
      ->type_name("N");
  time("--turnaround", turnaround_, "of NICs and application beside the link (default 2us)");
  time("--message-time", message_time_, "a NIC begins a message of a QP so often (default 0)");
  command.add_option("--cap", cap_, "payload that the line carries (default: computed from the headers)")
      ->type_name("RATE");
  time("--local-rtt", local_rtt_, "from a host to its box and back (default 4us)");
  time("--frame-time", frame_time_, "a worker of a box takes in a frame (default 300ns; docs/performance.md)");
  number("--workers", scenario_.pair.workers, "of a box; a connection stays with one (default 1)");
}

plan::ThroughputQuestion PlanScenario::read(const std::vector<std::uint64_t>& messages) const {
  plan::ThroughputQuestion question;
  question.scenario = scenario_;
  question.round_trips = link_.read_round_trips();
  question.messages = messages_.empty() ? messages : read_messages(messages_);
  plan::Scenario& scenario = question.scenario;
  scenario.link.rate_bps = scenario.hosts.rate_bps = link_.read_rate();
  scenario.hosts.turnaround = read_option("--turnaround", turnaround_, config::parse_duration);
  scenario.hosts.message_time = read_option("--message-time", message_time_, config::parse_duration);
  scenario.pair.local_round_trip = read_option("--local-rtt", local_rtt_, config::parse_duration);
  scenario.pair.frame_time = read_option("--frame-time", frame_time_, config::parse_duration);
  if (!cap_.empty()) {
    scenario.cap_bps = read_option("--cap", cap_, config::parse_rate);
    if (scenario.cap_bps == 0 || scenario.cap_bps > scenario.link.rate_bps)
      throw config::ConfigError(
          fmt::format("--cap: expected more than 0 and at most the rate of the line, got \"{}\"", cap_));
  }
  question.deep = scenario.hosts;
  question.deep.depth = deep_.depth;
  question.deep.nic_depth = deep_.nic_depth;
  return question;
}

}  // namespace longhaul::app
