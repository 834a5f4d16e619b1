// SPDX-License-Identifier: BSD-3-Clause
#include "plan/workload.hpp"

#include <fmt/format.h>

#include "plan/depth.hpp"
#include "plan/text.hpp"
#include "plan/timers.hpp"

namespace longhaul::plan {

Report begin_report(const Workload& workload, const Circumstances& circumstances) {
  const Link& link = circumstances.link;
  const double round_trip = in_seconds(link.round_trip);
  Report out;
  out.title =
      fmt::format("{} over {}, round trip {} ({}): calculated", workload.title,
                  rate_text(static_cast<double>(link.rate_bps)), time_text(round_trip), path_text(link.round_trip));
  if (!workload.source.empty()) out.lines.push_back("source: " + workload.source);
  Json& facts = out.facts;
  facts["kind"] = name_of(Kind::calculated);
  facts["title"] = workload.title;
  facts["source"] = workload.source;
  facts["rate_bits_per_second"] = link.rate_bps;
  facts["round_trip_seconds"] = round_trip;
  facts["kilometres"] = kilometres(link.round_trip);
  return out;
}

WorkloadAnswer answer(const Workload& workload, const Circumstances& circumstances) {
  WorkloadAnswer out =
      std::visit([&](const auto& load) { return answer(workload, load, circumstances); }, workload.load);
  for (const std::string& remark : workload.remarks) out.report.notes.push_back(remark);
  warn_of_timers(circumstances.link.round_trip, out.report);
  return out;
}

}  // namespace longhaul::plan
