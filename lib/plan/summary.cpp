// SPDX-License-Identifier: BSD-3-Clause
#include "plan/summary.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plan/predict.hpp"
#include "plan/text.hpp"

namespace longhaul::plan {
namespace {

/// What a row says, in the order of preference.
enum class Verdict : std::uint8_t { full, slower, nic, read, nothing, pair };

struct Row {
  Ways ways;
  std::string at;  ///< "4 KiB" or "100 km", whichever differs between the rows
  Verdict verdict;
};

Verdict verdict_of(const Ways& ways) {
  const Prediction standard = predict(ways.standard);
  const Prediction pair = predict(ways.pair);
  if (pair.bits_per_second * kWorthwhile < standard.bits_per_second) return Verdict::slower;
  if (standard.limit == Limit::line) return Verdict::full;
  if (standard.limit == Limit::message_time) return Verdict::nic;
  if (ways.standard.operation == Operation::read) return Verdict::read;
  return pair.bits_per_second < standard.bits_per_second * kWorthwhile ? Verdict::nothing : Verdict::pair;
}

std::vector<Row> rows_of(const ThroughputQuestion& question) {
  const bool distances = question.round_trips.size() > 1;
  const bool messages = question.messages.size() > 1;
  std::vector<Row> out;
  for (const Duration round_trip : question.round_trips) {
    for (const std::uint64_t message : question.messages) {
      Scenario scenario = question.scenario;
      scenario.link.round_trip = round_trip;
      scenario.message = message;
      Row row{ways(scenario, question.deep), "", Verdict::full};
      if (distances) row.at = distance_text(round_trip);
      if (messages) row.at += (distances ? " with " : "") + size_text(message);
      row.verdict = verdict_of(row.ways);
      out.push_back(std::move(row));
    }
  }
  return out;
}

/// "from 2 B to 64 KiB", "at 1 MiB", "in 5 of 12 rows".
std::string where(const std::vector<Row>& all, Verdict verdict) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].verdict == verdict) places.push_back(i);
  if (places.size() == all.size()) return "everywhere";
  if (places.size() == 1) return "at " + all[places.front()].at;
  const bool together = places.back() - places.front() + 1 == places.size();
  const bool both = all.front().at.find(" with ") != std::string::npos;
  if (!together || both) return fmt::format("in {} of {} rows", places.size(), all.size());
  return fmt::format("from {} to {}", all[places.front()].at, all[places.back()].at);
}

double gain(const Row& row) {
  return predict(row.ways.pair).bits_per_second / predict(row.ways.standard).bits_per_second;
}

/// The row that gains most.
const Row& best(const std::vector<Row>& all) {
  return *std::ranges::max_element(all, {},
                                   [](const Row& row) { return row.verdict == Verdict::pair ? gain(row) : 0; });
}

const Row& last(const std::vector<Row>& all, Verdict verdict) {
  return *std::find_if(all.rbegin(), all.rend(), [=](const Row& row) { return row.verdict == verdict; });
}

/// " at 64 KiB", unless the group has only this row and has named it.
std::string at(const std::vector<Row>& all, const Row& row) {
  const auto same = std::ranges::count(all, row.verdict, &Row::verdict);
  return same == 1 ? "" : fmt::format(" at {}", row.at);
}

std::string words(const std::vector<Row>& all, Verdict verdict) {
  const std::string places = where(all, verdict);
  const Row& row = last(all, verdict);
  const std::string here = at(all, row);
  switch (verdict) {
    case Verdict::full:
      return fmt::format("{} the line is already full, and nothing would add to it", places);
    case Verdict::slower:
      return fmt::format("{} a pair like this would be slower than standard ({:.1f} x{})", places, gain(row), here);
    case Verdict::nic:
      return fmt::format(
          "{} the NIC cannot begin more messages: larger messages or more QPs would help, the pair would not", places);
    case Verdict::read:
      return fmt::format(
          "{} READ waits for the far host's data, so that the pair does not help:{} {} would fill the line", places,
          here, alternatives(row.ways.standard, false));
    case Verdict::nothing:
      return fmt::format("{} the pair would not help:{} {} would fill the line", places, here,
                         alternatives(row.ways.standard, true));
    case Verdict::pair: {
      const Row& most = best(all);
      return fmt::format("{} the pair would help ({:.{}f} x{}); without it the line takes{} {}", places, gain(most),
                         gain(most) < 9.95 ? 1 : 0, at(all, most), here, alternatives(row.ways.standard, true));
    }
  }
  return "";
}

/// What the box lacks where it is the limit: for the last such row, whose messages are the largest.
std::string box_words(const std::vector<Row>& all) {
  const auto limited = [](const Row& row) { return predict(row.ways.pair).limit == Limit::box; };
  const auto row = std::find_if(all.rbegin(), all.rend(), limited);
  if (row == all.rend()) return "";
  return fmt::format(" Where the box is the limit, at {}: {}.", row->at, box_remedy(row->ways.pair));
}

}  // namespace

std::string summarize(const ThroughputQuestion& question) {
  const std::vector<Row> all = rows_of(question);
  if (all.size() == 1) return advise(all.front().ways);
  std::string out;
  for (const Verdict verdict :
       {Verdict::pair, Verdict::slower, Verdict::read, Verdict::nothing, Verdict::nic, Verdict::full}) {
    if (std::ranges::none_of(all, [=](const Row& row) { return row.verdict == verdict; })) continue;
    out += (out.empty() ? "" : "; ") + words(all, verdict);
  }
  out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out + "." + box_words(all);
}

}  // namespace longhaul::plan
