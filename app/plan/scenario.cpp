// SPDX-License-Identifier: BSD-3-Clause
#include "app/plan/scenario.hpp"

namespace longhaul::app {

PlanScenario::PlanScenario() {
  deep_.depth = 2048;
  deep_.nic_depth = 16384;
}

void PlanScenario::add_to(CLI::App& command) {
  plan::Hosts& hosts = scenario_.hosts;
  link_.add_to(command, "; each value is a row");
  command.add_option("--message", messages_, "message sizes")->type_name("SIZE...");
  add_operation(command, scenario_.operation);
  add_path_mtu(command, hosts.path_mtu);
  add_number(command, "--qps", qps_, 1, "queue pairs (default 1)");
  add_number(command, "--depth", hosts.depth, 1, "work requests posted on a QP (default 128; perftest -t)");
  add_number(command, "--moderation", hosts.moderation, 1,
             "only every Nth work request gets a completion (default 1; perftest -Q)");
  add_number(command, "--nic-depth", hosts.nic_depth, 0,
             "work requests that the NIC handles at once on a QP, 2^LOG_MAX_OUTSTANDING_WQE (default 0: all that are "
             "posted)");
  add_number(command, "--read-depth", hosts.read_depth, 1, "unanswered READs on a QP (default 16; max_qp_rd_atom)");
  add_number(command, "--deep-depth", deep_.depth, 1, "deep queues: work requests posted on a QP (default 2048)");
  add_number(command, "--deep-nic-depth", deep_.nic_depth, 0,
             "deep queues: work requests that the NIC handles at once on a QP (default 16384; 0: all that are posted)");
  command
      .add_option("--message-time", message_time_,
                  "shortest time between two messages that a NIC begins on a QP (default 0)")
      ->type_name("TIME");
  command.add_option("--cap", cap_, "rate of payload that the line carries (default: computed from the headers)")
      ->type_name("RATE");
  local_.add_to(command);
}

plan::ThroughputQuestion PlanScenario::read(const std::vector<std::uint64_t>& messages) const {
  plan::ThroughputQuestion question;
  question.scenario = scenario_;
  question.round_trips = link_.read_round_trips();
  question.messages = messages_.empty() ? messages : read_messages(messages_);
  plan::Scenario& scenario = question.scenario;
  scenario.link.rate_bps = scenario.hosts.rate_bps = link_.read_rate();
  local_.read(link_.usual_workers(), scenario.hosts, scenario.pair);
  scenario.hosts.qps = qps_ == 0 ? link_.usual_workers() : qps_;
  scenario.hosts.message_time = read_option("--message-time", message_time_, config::parse_duration);
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
