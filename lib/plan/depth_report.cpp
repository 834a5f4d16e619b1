// SPDX-License-Identifier: BSD-3-Clause
#include "plan/depth_report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"
#include "plan/timers.hpp"

namespace longhaul::plan {
namespace {

std::string overhead_text(const Framing& framing) {
  std::string out;
  for (const FramePart& part : parts_of(framing))
    if (part.bytes != 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", part.name, part.bytes);
  return out;
}

/// "4.28": two digits after the point below 10 km, otherwise one.
Cell filled_cell(Duration round_trip) {
  const double km = kilometres(round_trip);
  return {fmt::format("{:.{}f}", km, km < 10 ? 2 : 1), km};
}

std::vector<Column> distance_columns(const std::vector<std::uint64_t>& depths) {
  std::vector<Column> out;
  for (const std::uint64_t depth : depths)
    out.push_back(
        {fmt::format("kilometres_filled_by_{}", depth), fmt::format("{} fill, km", depth), Column::Align::right, {}});
  return out;
}

void append(std::vector<Column>& to, std::vector<Column> more) {
  for (Column& column : more) to.push_back(std::move(column));
}

std::uint64_t depth_cell_value(const DepthQuestion& question, std::uint64_t bytes) {
  return std::max<std::uint64_t>(1, depth_for(question.link.rate_bps, question.link.round_trip, bytes));
}

/// The depth, the share of the line that it fills, and the distances that the given depths fill.
void add_depth(const DepthQuestion& question, std::uint64_t bytes, std::vector<Cell>& cells) {
  const std::uint64_t depth = depth_cell_value(question, bytes);
  const double share =
      std::min(1.0, static_cast<double>(depth * bytes) /
                        static_cast<double>(bandwidth_delay_bytes(question.link.rate_bps, question.link.round_trip)));
  cells.push_back(count(depth));
  cells.push_back({fmt::format("{:.1f}", share * 100), share});
  for (const std::uint64_t given : question.depths)
    cells.push_back(filled_cell(round_trip_filled(question.link.rate_bps, given, bytes)));
}

Table frame_table(const DepthQuestion& question, const std::vector<std::uint64_t>& frames) {
  std::vector<Column> columns = {{"frame_bytes", "frame, B on the line", Column::Align::right, {}},
                                 {"depth", "depth", Column::Align::right, {}},
                                 {"share_filled", "fills, %", Column::Align::right, {}}};
  append(columns, distance_columns(question.depths));
  Table table("frames", "Messages of one frame", Kind::calculated, std::move(columns));
  for (const std::uint64_t frame : frames) {
    std::vector<Cell> cells = {count(frame)};
    add_depth(question, frame, cells);
    table.add(std::move(cells));
  }
  return table;
}

Table message_table(const DepthQuestion& question) {
  std::vector<Column> columns = {{"message_bytes", "message", Column::Align::right, {}},
                                 {"packets", "packets", Column::Align::right, {}},
                                 {"line_bytes", "B on the line", Column::Align::right, {}},
                                 {"depth", "depth", Column::Align::right, {}},
                                 {"share_filled", "fills, %", Column::Align::right, {}}};
  append(columns, distance_columns(question.depths));
  Table table("messages", fmt::format("{} by message size", capitals(name_of(question.operation))), Kind::calculated,
              std::move(columns));
  for (const std::uint64_t message : question.messages) {
    const std::uint64_t bytes = line_bytes(question.operation, message, question.framing);
    std::vector<Cell> cells = {size_cell(message), count(packets_of(message, question.framing.path_mtu)), count(bytes)};
    add_depth(question, bytes, cells);
    table.add(std::move(cells));
  }
  return table;
}

/// The message whose row stands for the table in a sentence: 4 KiB if it is there.
std::uint64_t usual_message(const DepthQuestion& question) {
  constexpr std::uint64_t kUsual = 4096;
  return std::ranges::find(question.messages, kUsual) == question.messages.end() ? question.messages.front() : kUsual;
}

/// What fills the line, beside the smallest of the depths in question.
std::string advice(const DepthQuestion& question) {
  const bool computed = question.frames.empty();
  const std::uint64_t depth = question.depths.empty() ? 1 : std::ranges::min(question.depths);
  const std::uint64_t message = computed ? usual_message(question) : 0;
  const auto needed = [&](std::uint64_t size) {
    return depth_cell_value(question, line_bytes(question.operation, size, question.framing));
  };
  const std::uint64_t bytes =
      computed ? line_bytes(question.operation, message, question.framing) : question.frames.front();
  const std::uint64_t fill = depth_cell_value(question, bytes);
  const std::string what = computed ? "messages of " + size_text(message) : fmt::format("frames of {} B", bytes);
  if (fill <= depth)
    return fmt::format("{} under way are enough for {}: more depth, more QPs or the pair would add nothing.", depth,
                       what);
  std::string out = fmt::format("{} {} under way (now {})", fill, what, depth);
  if (computed) {
    std::uint64_t larger = std::bit_ceil(message);
    while (larger < kLargestMessage && needed(larger) > depth) larger *= 2;
    if (needed(larger) <= depth) out += ", or messages of " + size_text(larger);
  }
  if (question.operation == Operation::read)
    return fmt::format("READ waits for the far host's data, so the pair does not help: {} would fill the line.", out);
  const Pair pair;
  const double packets = computed ? static_cast<double>(packets_of(message, question.framing.path_mtu)) : 1;
  const double workers = std::ceil(static_cast<double>(question.link.rate_bps) / 8 / static_cast<double>(bytes) *
                                   packets * static_cast<double>(pair.frame_time) / 1e9);
  return fmt::format("{} would fill the line. So would a pair of boxes{}: to the near one, {} away, {} are enough.",
                     out, workers > 1 ? fmt::format(" of {:.0f} workers", workers) : "",
                     time_text(in_seconds(pair.local_round_trip)),
                     std::max<std::uint64_t>(1, depth_for(question.link.rate_bps, pair.local_round_trip, bytes)));
}

}  // namespace

Report report(const DepthQuestion& question) {
  const Link& link = question.link;
  const std::uint64_t product = bandwidth_delay_bytes(link.rate_bps, link.round_trip);
  const bool computed = question.frames.empty();
  const std::uint32_t frame = full_frame(question.framing);
  Report out;
  out.title = fmt::format("{}, round trip {} ({}): calculated", rate_text(static_cast<double>(link.rate_bps)),
                          time_text(in_seconds(link.round_trip)), path_text(link.round_trip));
  out.lines.push_back(fmt::format("bandwidth-delay product: {} each way", bytes_text(static_cast<double>(product))));
  if (computed)
    out.lines.push_back(fmt::format("a middle packet: {} B on the line, {} of payload and {} around it ({})", frame,
                                    question.framing.path_mtu, frame_overhead(question.framing),
                                    overhead_text(question.framing)));
  out.tables.push_back(frame_table(question, computed ? std::vector<std::uint64_t>{frame} : question.frames));
  if (computed) out.tables.push_back(message_table(question));
  out.notes.push_back(
      "depth = floor(rate x RTT / (8 x bytes on the line)), at least 1: messages that must be under way on all QPs "
      "together. It counts messages, not packets.");
  if (computed && question.operation == Operation::write)
    out.notes.push_back(
        "The first packet of a WRITE has a RETH of 16 B, so a message of one packet is larger on the line than a "
        "middle "
        "packet. Published depths for small messages (21186 for 512 B, 37425 for 256 B at 100 km) count 78 B around "
        "the "
        "payload: the 82 B of a middle packet without its FCS, or a WRITE of one packet without preamble and gap. "
        "--frame 590B and --frame 334B give them.");

  Json& facts = out.facts;
  facts["kind"] = name_of(Kind::calculated);
  facts["rate_bits_per_second"] = link.rate_bps;
  facts["round_trip_seconds"] = in_seconds(link.round_trip);
  facts["kilometres"] = kilometres(link.round_trip);
  facts["bandwidth_delay_bytes"] = product;
  if (computed) {
    facts["operation"] = name_of(question.operation);
    facts["path_mtu"] = question.framing.path_mtu;
    facts["frame_bytes"] = frame;
    facts["overhead_bytes"] = frame_overhead(question.framing);
    Json parts = Json::object();
    for (const FramePart& part : parts_of(question.framing)) parts[std::string(part.name)] = part.bytes;
    facts["overhead"] = std::move(parts);
  }
  warn_of_timers(link.round_trip, out);
  out.advice = advice(question);
  return out;
}

Plot plot(const DepthQuestion& question) {
  if (!question.frames.empty())
    throw std::invalid_argument("a plot shows depth by message size, so it cannot be combined with --frame");
  Plot out;
  out.title = fmt::format("Depth that fills {} over {}", rate_text(static_cast<double>(question.link.rate_bps)),
                          distance_text(question.link.round_trip));
  out.x = {"message size", true, Axis::Marks::bytes};
  out.y = {"messages under way", true, Axis::Marks::numbers};
  Series needed{"needed by " + capitals(name_of(question.operation)), {}, {}};
  for (const std::uint64_t message : question.messages) {
    needed.x.push_back(static_cast<double>(message));
    needed.y.push_back(
        static_cast<double>(depth_cell_value(question, line_bytes(question.operation, message, question.framing))));
  }
  out.series.push_back(needed);
  for (const std::uint64_t depth : question.depths) {
    Series level{fmt::format("depth {}", depth), needed.x, {}};
    level.y.assign(level.x.size(), static_cast<double>(depth));
    level.marked = false;
    out.series.push_back(std::move(level));
  }
  return out;
}

}  // namespace longhaul::plan
