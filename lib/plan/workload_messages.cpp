// SPDX-License-Identifier: BSD-3-Clause
// Streams of messages on RC connections: databases, files.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"
#include "plan/workload.hpp"

namespace longhaul::plan {
namespace {

using Stream = MessageLoad::Stream;

struct Outcome {
  double messages_per_second = 0;
  double latency = 0;  ///< seconds from post to completion, or to the far application's answer
  std::string limit;
};

Outcome outcome(const Stream& stream, const Scenario& scenario) {
  const Prediction prediction = predict(scenario);
  Outcome out{prediction.messages_per_second, 0, std::string(key_of(prediction.limit))};
  if (stream.answered) {
    // The far application answers when it has the message. No box can do this for it.
    const double alone = latency(scenario).delivered + static_cast<double>(scenario.link.round_trip) / 2e9 +
                         in_seconds(scenario.hosts.turnaround);
    const double answered = scenario.hosts.qps * static_cast<double>(scenario.hosts.depth) / alone;
    if (answered < out.messages_per_second) out = {answered, 0, "answers"};
    out.latency = alone;
  }
  if (stream.wanted > 0 && stream.wanted < out.messages_per_second) out = {stream.wanted, out.latency, "wanted"};
  // Little's law, unless fewer messages are wanted than could be under way.
  const double under_way =
      static_cast<double>(scenario.hosts.qps) * outstanding(scenario.operation, scenario.hosts).messages;
  const double alone = latency(scenario).completed;
  if (!stream.answered)
    out.latency = out.limit == "wanted" ? alone : std::max(alone, under_way / out.messages_per_second);
  return out;
}

Scenario scenario_of(const Stream& stream, const Circumstances& circumstances) {
  Scenario out;
  out.operation = stream.operation;
  out.message = stream.size;
  out.link = circumstances.link;
  out.hosts = circumstances.hosts;
  out.hosts.qps = stream.qps;
  out.hosts.depth = stream.depth;
  out.pair = circumstances.pair;
  return out;
}

Ways ways_of(const Stream& stream, const Circumstances& circumstances) {
  Hosts deep = circumstances.deep;
  // An application that waits for each answer posts no more, however deep the queue.
  deep.depth = stream.answered ? stream.depth : std::max(deep.depth, stream.depth);
  return ways(scenario_of(stream, circumstances), deep);
}

/// The simplest remedy for a stream.
enum class Remedy : std::uint8_t { none_needed, line, pair, more_at_once, reads, messages };
struct Advice {
  Remedy remedy;
  std::string detail;  ///< a sentence
};

Advice advise(const Stream& stream, const Ways& three) {
  const Outcome standard = outcome(stream, three.standard);
  const Outcome pair = outcome(stream, three.pair);
  if (standard.limit == "wanted") return {Remedy::none_needed, fmt::format("{}: keeps up as it is.", stream.name)};
  if (standard.limit == "line")
    return {Remedy::line, fmt::format("{}: the line is already full at {}.", stream.name,
                                      rate_text(standard.messages_per_second * 8 * static_cast<double>(stream.size)))};
  const double full = line_cap(three.standard) / (8 * static_cast<double>(stream.size));
  const double goal = stream.wanted > 0 ? std::min(stream.wanted, full) : full;
  const double loop =
      stream.answered ? standard.latency : in_seconds(three.standard.link.round_trip + three.standard.hosts.turnaround);
  const double at_once = std::ceil(goal * loop);
  const std::uint64_t now = std::uint64_t{stream.qps} * outstanding(stream.operation, three.standard.hosts).messages;
  const std::string reach = fmt::format("{:.0f} under way instead of {} would reach {:.0f} messages/s (now {:.0f})",
                                        at_once, now, goal, standard.messages_per_second);
  if (stream.answered)
    return {
        Remedy::more_at_once,
        fmt::format("{}: waits for answers of the far application, which no box can give; {}.", stream.name, reach)};
  if (stream.operation == Operation::read)
    return {
        Remedy::reads,
        fmt::format("{}: READ waits for the far host's data; {}, by more QPs ({}), more outstanding READs or larger "
                    "messages.",
                    stream.name, reach, std::ceil(at_once * stream.qps / static_cast<double>(now)))};
  if (pair.messages_per_second > standard.messages_per_second * kWorthwhile)
    return {
        Remedy::pair,
        fmt::format(
            "{}: the pair gives {:.0f} messages/s, with the hosts as they are{}; without it {}.", stream.name,
            pair.messages_per_second,
            pair.limit == key_of(Limit::box) ? fmt::format(", limited by the box ({})", box_remedy(three.pair)) : "",
            reach)};
  return {Remedy::messages,
          fmt::format("{}: {} is the limit; larger messages or more QPs would help.", stream.name, standard.limit)};
}

/// One sentence for all streams, grouped by remedy.
std::string sum_up(const MessageLoad& load, const std::vector<Advice>& all) {
  struct Words {
    Remedy remedy;
    std::string_view text;
  };
  constexpr Words kWords[] = {
      {Remedy::pair, "the pair would help"},
      {Remedy::more_at_once,
       "only more messages at once would help, because the far application's answers are the limit,"},
      {Remedy::reads, "more QPs, outstanding READs or larger messages would help, and the pair would not,"},
      {Remedy::messages, "larger messages or more QPs would help"},
      {Remedy::line, "the line is full for"},
      {Remedy::none_needed, "nothing is needed by"},
  };
  std::string out;
  for (const Words& words : kWords) {
    std::string names;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].remedy == words.remedy)
        names += fmt::format("{}\"{}\"", names.empty() ? "" : " and ", load.streams[i].name);
    if (!names.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : "; ", words.text, names);
  }
  out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out + ".";
}

}  // namespace

WorkloadAnswer answer(const Workload& workload, const MessageLoad& load, const Circumstances& circumstances) {
  Report report = begin_report(workload, circumstances);
  Table table("ways", "Each stream alone on the line", Kind::calculated,
              {{"stream", "stream", Column::Align::left, {}},
               {"operation", "operation", Column::Align::left, {}},
               {"message_bytes", "message", Column::Align::right, {}},
               {"way", "way", Column::Align::left, {}},
               {"under_way", "under way", Column::Align::right, {}},
               {"messages_per_second", "messages/s", Column::Align::right, {}},
               {"wanted_per_second", "wanted", Column::Align::right, {}},
               {"bits_per_second", "Gbit/s", Column::Align::right, {}},
               {"latency_seconds", "latency, ms", Column::Align::right, {}},
               {"seconds", "for all, s", Column::Align::right, {}},
               {"limit", "limited by", Column::Align::left, {}}});
  Plot plot;
  plot.title = fmt::format("{}, {}", workload.title, rate_text(static_cast<double>(circumstances.link.rate_bps)));
  plot.x = {"distance, km of fibre", true, Axis::Marks::numbers};
  plot.y = {"messages per second", true, Axis::Marks::numbers};
  std::vector<Advice> advices;
  for (std::size_t place = 0; place < load.streams.size(); ++place) {
    const Stream& stream = load.streams[place];
    const Ways three = ways_of(stream, circumstances);
    for (const Way& way : kWays) {
      const Scenario& scenario = three.*way.scenario;
      const Outcome result = outcome(stream, scenario);
      const double bits = result.messages_per_second * 8 * static_cast<double>(stream.size);
      const double time = static_cast<double>(stream.total) * 8 / bits;
      const Cell wanted = stream.wanted > 0 ? Cell{fmt::format("{:.0f}", stream.wanted), stream.wanted} : nothing();
      const Cell all = stream.total > 0 ? Cell{fmt::format("{:.4g}", time), time} : nothing();
      table.add({word(stream.name),
                 word(std::string(name_of(stream.operation))),
                 size_cell(stream.size),
                 word(std::string(way.name)),
                 count(std::uint64_t{scenario.hosts.qps} * outstanding(stream.operation, scenario.hosts).messages),
                 {fmt::format("{:.0f}", result.messages_per_second), result.messages_per_second},
                 wanted,
                 gigabits(bits),
                 {fmt::format("{:.4g}", result.latency * 1e3), result.latency},
                 all,
                 word(result.limit)});
    }
    advices.push_back(advise(stream, three));
    for (const Way& way : {kWays[0], kWays[2]}) {
      Series series{fmt::format("{}, {}", stream.name, way.name), {}, {}};
      series.marked = false;
      series.look = static_cast<int>(place);
      series.dash = way.scenario == &Ways::pair ? Series::Dash::dashed : Series::Dash::solid;
      Scenario at = three.*way.scenario;
      for (const Duration round_trip : distances_between(microseconds(10), milliseconds(100))) {
        at.link.round_trip = round_trip;
        series.x.push_back(kilometres(round_trip));
        series.y.push_back(outcome(stream, at).messages_per_second);
      }
      plot.series.push_back(std::move(series));
    }
  }
  report.tables.push_back(std::move(table));
  const std::string sentence = sum_up(load, advices);
  for (const Advice& one : advices) report.notes.push_back(one.detail);
  report.notes.push_back(
      "Limited by: wanted: there is no more to send; answers: answers of the far application; otherwise as in "
      "`longhaul plan "
      "throughput`.");
  report.advice = sentence;
  return {std::move(report), std::move(plot)};
}

}  // namespace longhaul::plan
