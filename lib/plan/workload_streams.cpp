// SPDX-License-Identifier: BSD-3-Clause
// Streams over UC, WRITE with immediate: there are no acknowledgements and no retransmissions.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/framing.hpp"
#include "plan/predict.hpp"
#include "plan/text.hpp"
#include "plan/workload.hpp"
#include "wire/headers.hpp"

namespace longhaul::plan {

WorkloadAnswer answer(const Workload& workload, const StreamLoad& load, const Circumstances& circumstances) {
  const Link& link = circumstances.link;
  const std::uint32_t mtu = circumstances.hosts.path_mtu;
  const double rate = static_cast<double>(link.rate_bps);
  const double wanted = static_cast<double>(load.qps) * static_cast<double>(load.rate_per_qp);
  const std::uint64_t packets = packets_of(load.message, mtu);
  const std::uint64_t bytes = line_bytes(Operation::write, load.message, mtu) + sizeof(wire::ImmDt);
  const double efficiency = static_cast<double>(load.message) / static_cast<double>(bytes);
  const bool fits = wanted <= rate * efficiency;
  const double carried = std::min(wanted, rate * efficiency);
  const double messages = carried / 8 / static_cast<double>(load.message);
  const double damaged = -std::expm1(static_cast<double>(packets) * std::log1p(-circumstances.loss));
  const double delivered = static_cast<double>(link.round_trip) / 2e9 + 8 * static_cast<double>(bytes) / rate;

  Report report = begin_report(workload, circumstances);
  Table table("ways", fmt::format("{} UC QPs, messages of {}", load.qps, size_text(load.message)), Kind::calculated,
              {{"way", "way", Column::Align::left, {}},
               {"bits_per_second", "payload, Gbit/s", Column::Align::right, {}},
               {"bits_per_second_and_qp", "of a QP, Mbit/s", Column::Align::right, {}},
               {"messages_per_second", "messages/s", Column::Align::right, {}},
               {"line_bits_per_second", "on the line, Gbit/s", Column::Align::right, {}},
               {"delivered_seconds", "delivered after, us", Column::Align::right, {}},
               {"damaged_messages_per_second", "damaged messages/s", Column::Align::right, {}},
               {"limit", "limited by", Column::Align::left, {}}});
  const std::string limit = fits ? "the streams themselves" : "line";
  for (const char* way : {"standard", "deep queues", "pair"})
    table.add({word(way),
               gigabits(carried),
               {fmt::format("{:.4g}", carried / load.qps / 1e6), carried / load.qps},
               {fmt::format("{:.0f}", messages), messages},
               gigabits(carried / efficiency),
               microseconds_cell(delivered),
               {fmt::format("{:.4g}", messages * damaged), messages * damaged},
               word(limit)});
  report.tables.push_back(std::move(table));

  const std::string sentence = fits ? "Nothing would help, because nothing here waits for an answer: distance does not "
                                      "limit UC, and depth, QPs or the pair do not change what arrives."
                                    : fmt::format(
                                          "The line is too slow: {} of payload are wanted but {} get through, the rest "
                                          "is lost; depth or the pair would not change that.",
                                          rate_text(wanted), rate_text(carried));
  report.notes.push_back(fmt::format(
      "UC is never acknowledged, so a box passes it through untouched. A lost packet spoils its message, "
      "and the receiver notices by the missing immediate: at loss {:g}, {:.4g} messages a second of {:.0f}.",
      circumstances.loss, messages * damaged, messages));
  const double under_way = carried / efficiency * static_cast<double>(link.round_trip) / 2e9 / 8;
  report.notes.push_back(
      fmt::format("{} B on the line for a message of {} B (RETH in the first packet, immediate in the last): {:.2f} %; "
                  "{} under way one "
                  "way.",
                  bytes, load.message, efficiency * 100, bytes_text(under_way)));
  Json& facts = report.facts;
  report.advice = sentence;
  facts["qps"] = load.qps;
  facts["message_bytes"] = load.message;
  facts["packets_per_message"] = packets;
  facts["line_bytes"] = bytes;
  facts["efficiency"] = efficiency;
  facts["wanted_bits_per_second"] = wanted;
  facts["fits"] = fits;
  facts["loss"] = circumstances.loss;

  Plot plot;
  plot.title = workload.title + ": what loss spoils";
  plot.x = {"packets lost, share", true, Axis::Marks::numbers};
  plot.y = {"damaged messages per second", true, Axis::Marks::numbers};
  Series series{fmt::format("messages of {} ({} packets)", size_text(load.message), packets), {}, {}};
  series.marked = false;
  for (double loss = 1e-9; loss < 0.011; loss *= std::pow(10.0, 0.1)) {
    series.x.push_back(loss);
    series.y.push_back(messages * -std::expm1(static_cast<double>(packets) * std::log1p(-loss)));
  }
  plot.series.push_back(std::move(series));
  return {std::move(report), std::move(plot)};
}

}  // namespace longhaul::plan
