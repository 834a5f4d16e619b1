// SPDX-License-Identifier: BSD-3-Clause
// Any text as a dump of a NIC: a DumpError that names the file, or a report whose findings point into the text. The
// input is a byte of choices, then the text.
#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "expect.hpp"
#include "input.hpp"
#include "plan/nic/examine.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;
using namespace longhaul::plan;

namespace {

nic::Haul haul_of(std::uint8_t choices) {
  constexpr std::uint64_t kRtts[] = {1, 100'000, 3'810'000, 60'000'000'000};
  constexpr nic::Operation kOperations[] = {nic::Operation::write, nic::Operation::send, nic::Operation::read,
                                            nic::Operation::read};
  nic::Haul haul;
  haul.rtt_ns = kRtts[choices & 3];
  haul.operation = kOperations[choices >> 2 & 3];
  haul.qps = (choices & 16) != 0 ? 4 : 1;
  haul.message_bytes = (choices & 32) != 0 ? 1u << 20 : 4096;
  haul.asked_depth = (choices & 64) != 0 ? 128 : 0;
  haul.rate_bps = (choices & 128) != 0 ? UINT64_MAX : 100'000'000'000;
  return haul;
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

void check(const nic::Diagnosis& diagnosis, std::size_t lines) {
  const std::string text = nic::to_text(diagnosis);
  expect(plain(text), "a control character in the report");
  const auto json = nlohmann::json::parse(nic::to_json(diagnosis));
  expect(json["findings"].size() == diagnosis.findings.size(), "findings in the JSON");
  expect(json["faults"] == diagnosis.count(nic::Severity::fault), "faults in the JSON");
  for (const nic::Finding& finding : diagnosis.findings) {
    const bool from_text = !finding.place.file.empty();
    std::size_t line = finding.place.line;
    if (defect("line")) line += lines + 1;
    expect(from_text ? line >= 1 && line <= lines : finding.id == "asked-depth", "a line beyond the text");
    expect(!finding.message.empty() && !finding.value.empty(), "a finding that says nothing");
    if (finding.severity != nic::Severity::fine)
      expect(!finding.wanted.empty() && !finding.remedy.empty() && !defect("remedy"), "a fault without a remedy");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const nic::Haul haul = haul_of(input.u8());
  const Exact rest(input.rest());
  const std::string_view text(reinterpret_cast<const char*>(rest.bytes().data()), rest.bytes().size());
  nic::Dumps dumps;
  try {
    dumps.read("dump.txt", text);
  } catch (const nic::DumpError& error) {
    expect(std::string_view(error.what()).starts_with("dump.txt:"), "an error without its file");
    return 0;
  }
  check(nic::examine(dumps, haul), 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  return 0;
}
