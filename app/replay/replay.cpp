// SPDX-License-Identifier: BSD-3-Clause
// `longhaul replay`: reads captures, writes what the box would have sent, and says how well its answers agree with the
// real ones.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/command/json_file.hpp"
#include "app/command/subcommands.hpp"
#include "app/process/owned_pools.hpp"
#include "app/replay/annotated_file.hpp"
#include "app/replay/arguments.hpp"
#include "app/replay/expectations.hpp"
#include "app/replay/outputs.hpp"
#include "app/replay/progress.hpp"
#include "config/quantity.hpp"
#include "drivers/capture_reader.hpp"
#include "drivers/eal.hpp"
#include "engine/pools.hpp"
#include "replay/expected_counters.hpp"
#include "replay/report.hpp"
#include "replay/runner.hpp"

namespace longhaul::app {
namespace {

/// Enough for what a box has in custody at once: a capture is read frame by frame.
constexpr std::uint32_t kFrames = 8192;
constexpr std::uint32_t kSmallFrames = 16384;
constexpr std::uint64_t kEalReserve = 32ull << 20;  // EAL's own tables

engine::PoolPlan pool_plan() {
  engine::PoolPlan plan;
  plan.name = "replay";
  plan.frames = kFrames;
  plan.small_frames = kSmallFrames;
  return plan;
}

drivers::EalOptions eal_options() {
  drivers::EalOptions options;
  options.hugepages = false;
  options.memory_bytes = engine::Pools::bytes_needed(pool_plan()) + kEalReserve;
  return options;
}

engine::Settings box_settings(const ReplayArguments& arguments) {
  engine::Settings settings;
  settings.policies.fallback = arguments.policy;
  settings.confirm = arguments.confirm;
  settings.wan_rate_bps = config::parse_rate(arguments.wan_rate);
  settings.estimate_wan_rate = false;    // the answers in a capture do not come later if requests do
  settings.custody_mbufs = kFrames / 2;  // the rest is for frames on their way through
  return settings;
}

/// Replays captures one after another, each through a box of its own.
class Session {
 public:
  explicit Session(const ReplayArguments& arguments) : arguments_(arguments), settings_(box_settings(arguments)) {
    for (const auto& text : arguments.near) near_.push_back(flow::Prefix::parse(text));
    if (!arguments.expect.empty()) expected_ = Expectations::read(arguments.expect);
    if (!arguments.write_expect.empty()) counted_.emplace(arguments.write_expect);
  }

  void run() {
    for (const auto& capture : arguments_.captures) {
      const auto began = std::chrono::steady_clock::now();
      try {
        reports_.push_back(replay_one(capture));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "longhaul replay: %s\n", error.what());
        reports_.emplace_back(capture, error.what());
      }
      reports_.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    if (counted_) counted_->write();
    if (!arguments_.junit.empty()) write_atomically(arguments_.junit, replay::to_junit(reports_));
  }

  const std::vector<replay::CaptureReport>& reports() const { return reports_; }

 private:
  replay::CaptureReport replay_one(const std::string& capture) {
    drivers::CaptureReader reader(capture);
    PortFiles files(arguments_.host_out, arguments_.wan_out);
    if (!eal_) eal_.emplace(eal_options());
    const OwnedPools pools(pool_plan());
    const std::string annotated = annotated_path(arguments_.annotated_out, capture);
    std::optional<AnnotatedFile> annotated_file;
    std::optional<replay::Annotator> annotator;
    if (!annotated.empty()) annotator.emplace(files, annotated_file.emplace(annotated));
    replay::Output& output = annotator ? static_cast<replay::Output&>(*annotator) : files;
    replay::Runner runner(settings_, pools.get(), near_, output, annotator ? &*annotator : nullptr, arguments_.explain);

    ReplayProgress progress(!arguments_.quiet, capture, reports_.size() + 1, arguments_.captures.size(), reader.size());
    drivers::CapturedFrame frame;
    for (std::uint64_t frames = 1; reader.next(frame); ++frames) {
      runner.feed(frame.bytes, frame.original_size, frame.time);
      progress.at(frames, [&] { return reader.bytes_read(); });
    }
    const replay::Result result = runner.finish();
    files.flush();
    if (annotator) annotated_file->write(*annotator);
    if (counted_) counted_->add(capture, replay::expected_counters(result, runner.comparison()));
    replay::CaptureReport report(capture, result, runner.comparison(), judge(capture, result, runner.comparison()));
    if (replay::Explainer* explainer = runner.explanation()) report.explain(*explainer);
    return report;
  }

  std::vector<replay::Check> judge(const std::string& capture, const replay::Result& result,
                                   const replay::AckComparison& comparison) const {
    const Json* const expected = expected_ ? expected_->find(capture) : nullptr;
    auto checks = replay::judge(result, comparison, arguments_.demands, expected);
    if (expected_ && expected == nullptr)
      checks.push_back({"counters as expected", replay::Verdict::differs, expected_->absence(capture)});
    return checks;
  }

  const ReplayArguments& arguments_;
  engine::Settings settings_;
  std::vector<flow::Prefix> near_;
  std::optional<Expectations> expected_;
  std::optional<Expectations> counted_;
  std::optional<drivers::Eal> eal_;  // not before a capture was opened
  std::vector<replay::CaptureReport> reports_;
};

/// What is printed on standard output. Nothing for one capture that cannot be read.
std::string report_text(const ReplayArguments& arguments, const std::vector<replay::CaptureReport>& reports) {
  const auto dump = [](const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";  // names of files may be anything
  };
  if (reports.size() == 1) {
    if (reports[0].verdict == replay::Verdict::unusable) return "";
    return arguments.json ? dump(reports[0].json) : reports[0].text;
  }
  if (!arguments.json) return replay::to_table(reports);
  Json json = {{"verdict", name_of(replay::verdict_of(reports))}, {"captures", Json::array()}};
  for (const auto& report : reports) json["captures"].push_back(report.json);
  return dump(json);
}

int run_replay(const ReplayArguments& arguments) {
  check_files(arguments);
  Session session(arguments);
  session.run();

  const std::string text = report_text(arguments, session.reports());
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write the report to standard output");
  // The report may go to a file. The log of a CI job must still say why the job failed.
  if (arguments.json)
    for (const auto& report : session.reports())
      for (const auto& check : report.checks)
        if (check.verdict != replay::Verdict::agreed && check.verdict != replay::Verdict::unusable)
          std::fprintf(stderr, "longhaul replay: %s: %s\n", report.capture.c_str(), check.message.c_str());
  return static_cast<int>(replay::verdict_of(session.reports()));
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command =
      app.add_subcommand("replay", "send captures through a box and compare its answers with the real ones");
  add_options(*command, *arguments);
  command->callback([arguments, &exit_code] {
    try {
      exit_code = run_replay(*arguments);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "longhaul replay: %s\n", error.what());
      exit_code = static_cast<int>(replay::Verdict::unusable);
    }
  });
}

}  // namespace longhaul::app
