// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <iterator>

#include "replay/report.hpp"
#include "replay/text_list.hpp"

namespace longhaul::replay {
std::string name_flow(const custody::FlowIdentity& flow) {
  return fmt::format("{} 0x{:06x} -> {} 0x{:06x}", flow.requester.to_string(), flow.requester_qpn,
                     flow.responder.to_string(), flow.responder_qpn);
}

std::string to_text(const Result& result, const AckComparison& comparison) {
  const Counters& counters = result.counters;
  std::string text;
  const auto row = [&](const char* name, std::uint64_t value) { text += fmt::format("{:<24}{:>12}\n", name, value); };
  row("frames", result.frames);
  row("  out of the host port", counters[Counter::forwarded_host]);
  row("  out of the WAN port", counters[Counter::forwarded_wan]);
  for (const Counter counter : not_forwarded_counters()) {
    if (counters[counter] > 0) row(fmt::format("  {}", name_of(counter)).c_str(), counters[counter]);
  }
  if (result.waiting > 0) row("  waiting", result.waiting);
  row("truncated", result.truncated);
  row("ICRC wrong", result.icrc_bad);
  row("flows learned", counters[Counter::flows_learned]);
  row("requests", counters[Counter::requests]);
  row("pseudo-ACKs", counters[Counter::pseudo_acks]);
  row("real ACKs", comparison.real_acks);
  row("  matched", comparison.real_acks_matched);
  row("  mismatched", comparison.real_acks_mismatched);
  row("  unmatched", comparison.real_acks_unmatched);
  row("  not comparable", comparison.real_acks_forwarded);
  row("custody left, packets", result.custody_left_packets);

  append_list(text, "flows", comparison.flows(), [](const FlowReport& report) {
    return fmt::format("{}: {} requests, {} pseudo-ACKs, {} real ACKs, {}{}", name_flow(report.flow), report.requests,
                       report.pseudo_acks, report.real_acks, report.confirmed ? "" : "not confirmed, ",
                       name_of(report.end));
  });
  append_list(text, "mismatched", comparison.mismatches, [](const Mismatch& mismatch) {
    return fmt::format("frame {}: {} PSN {}: {} is 0x{:x}, the pseudo-ACK said 0x{:x}", mismatch.frame,
                       name_flow(mismatch.flow), mismatch.psn, mismatch.field, mismatch.real, mismatch.pseudo);
  });
  append_list(text, "unmatched", comparison.unmatched, [](const Unmatched& unmatched) {
    return fmt::format("frame {}: {} PSN {}: {}", unmatched.frame, name_flow(unmatched.flow), unmatched.psn,
                       unmatched.reason);
  });
  return text;
}

}  // namespace longhaul::replay
