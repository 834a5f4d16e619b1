// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan depth`: which queue depth fills a link, and which distance a depth fills.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/command/guard.hpp"
#include "app/command/validators.hpp"
#include "app/plan/options.hpp"
#include "app/plan/plan_subcommands.hpp"
#include "plan/depth_report.hpp"
#include "plan/throughput.hpp"

namespace longhaul::app {
namespace {

constexpr std::uint64_t kLeastFrame = 64;  // Ethernet's
constexpr std::uint64_t kMostFrame = 65536;

struct DepthArguments {
  PlanLink link;
  PlanOutput output;
  plan::DepthQuestion question;
  std::vector<std::string> frames;
  std::vector<std::string> messages;
  std::vector<std::uint64_t> depths = {128, 2048, 8192, 16384};
};

int run(const DepthArguments& arguments) {
  plan::DepthQuestion question = arguments.question;
  question.link = arguments.link.read();
  question.depths = arguments.depths;
  for (const std::string& text : arguments.frames) {
    question.frames.push_back(read_option("--frame", text, config::parse_size));
    if (question.frames.back() < kLeastFrame || question.frames.back() > kMostFrame)
      throw config::ConfigError(
          fmt::format("--frame: expected {}B to {}B on the line, preamble and gap included, got \"{}\"", kLeastFrame,
                      kMostFrame, text));
  }
  question.messages = arguments.messages.empty() ? plan::usual_messages() : read_messages(arguments.messages);
  const plan::Report report = plan::report(question);
  try {
    arguments.output.give(report, [&] { return plan::plot(question); });
  } catch (const std::invalid_argument& error) {
    throw config::ConfigError(error.what());
  }
  return 0;
}

}  // namespace

void add_plan_depth(CLI::App& plan, int& exit_code) {
  const auto arguments = std::make_shared<DepthArguments>();
  CLI::App* command = plan.add_subcommand("depth", "queue depth that fills a link, and distance that a depth fills");
  command->footer(
      "Depth is the number of messages under way on all QPs together: floor(rate x RTT / (8 x bytes on the line)).\n"
      "Bytes on the line are computed from the headers and include FCS, preamble and gap; --frame overrides them.\n"
      "Examples:\n"
      "  longhaul plan depth --rate 100Gbps --distance 100km\n"
      "  longhaul plan depth --rate 400Gbps --rtt 3.81ms --message 4KiB 64KiB --depth 128 1024\n"
      "  longhaul plan depth --rate 100Gbps --distance 100km --frame 590B");
  arguments->link.add_to(*command);
  add_operation(*command, arguments->question.operation);
  CLI::Option* frame = command->add_option(
      "--frame", arguments->frames, "size of a frame on the line, such as 4178B, instead of --mtu and --message");
  frame->type_name("SIZE");
  add_path_mtu(*command, arguments->question.framing.path_mtu)->excludes(frame);
  command->add_flag("--ipv6", arguments->question.framing.ipv6, "packets have an IPv6 header")->excludes(frame);
  command->add_option("--vlan", arguments->question.framing.vlan_tags, "VLAN tags on each frame (default 0)")
      ->type_name("TAGS")
      ->check(whole_number(0, 2))
      ->excludes(frame);
  command->add_option("--message", arguments->messages, "message sizes (default: 2B to 8MiB)")
      ->type_name("SIZE")
      ->excludes(frame);
  command
      ->add_option("--depth", arguments->depths,
                   "show the distance that these depths fill (default: 128 2048 8192 16384)")
      ->type_name("N")
      ->check(whole_number(1, 1u << 24));
  arguments->output.add_to(*command);
  command->callback([arguments, &exit_code] { exit_code = guarded("plan depth", [&] { return run(*arguments); }); });
}

}  // namespace longhaul::app
