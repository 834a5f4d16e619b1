// SPDX-License-Identifier: BSD-3-Clause
#include "plan/nic/dumps.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

/// No real file has more.
constexpr std::size_t kMostFacts = 200'000;

class Collector final : public Sink {
 public:
  Collector(std::string file, std::vector<Fact>& facts, std::vector<Dump>& dumps)
      : file_(std::move(file)), facts_(facts), dumps_(dumps) {}

  void begin(const Format& format, const Context& context, std::size_t line) {
    dumps_.push_back({format.kind, format.name, context.device, {file_, line}, 0});
    subject_ = context.device;
  }
  void subject(std::string_view subject) override {
    subject_ = printable(subject);
    if (dumps_.back().facts == 0) dumps_.back().subject = subject_;
  }
  void fact(std::size_t line, std::string_view name, std::string_view value, std::string_view next) override {
    if (facts_.size() >= kMostFacts)
      throw DumpError(fmt::format("{}:{}: more than {} values: this is not a dump of a NIC", file_, line, kMostFacts));
    facts_.push_back({dumps_.back().kind,
                      dumps_.back().format,
                      subject_,
                      printable(name),
                      printable(value),
                      printable(next),
                      {file_, line}});
    ++dumps_.back().facts;
  }

 private:
  std::string file_;
  std::vector<Fact>& facts_;
  std::vector<Dump>& dumps_;
  std::string subject_;
};

/// "$ mlxreg -d 5e:00.0 ...", "# ethtool -g eth2": notes the device of the next dump.
void note_command(std::string_view line, Context& context) {
  constexpr std::string_view kTools[] = {"mlxconfig", "mstconfig", "mlxreg", "mstreg", "ethtool", "mlnx_qos"};
  const auto all = words(line, 24);
  for (std::size_t tool = 0; tool < all.size(); ++tool) {
    const std::string_view name = all[tool].substr(all[tool].rfind('/') + 1);
    if (std::find(std::begin(kTools), std::end(kTools), name) == std::end(kTools)) continue;
    context.device.clear();
    for (std::size_t i = tool + 1; i < all.size(); ++i) {
      const bool last_of_ethtool = name == "ethtool" && i + 1 == all.size() && !all[i].starts_with('-');
      const bool after_option = i > tool + 1 && (all[i - 1] == "-d" || all[i - 1] == "-i");
      if ((last_of_ethtool || after_option) && is_name(all[i], "_.:/-@")) context.device = all[i];
    }
    return;
  }
}

std::string expectation() {
  std::string out;
  for (const Format& format : formats()) out += fmt::format("\n  {}", format.command);
  return out;
}

}  // namespace

void Dumps::read(const std::string& file, std::string_view text) {
  if (text.size() > kLargestFile)
    throw DumpError(fmt::format("{}: {} MiB is too large for a dump of a NIC (at most {} MiB)", file, text.size() >> 20,
                                kLargestFile >> 20));
  if (text.find('\0') != std::string_view::npos)
    throw DumpError(fmt::format("{}: this is binary data, not text", file));
  Collector sink(file, facts_, dumps_);
  Context context;
  std::unique_ptr<Parser> parser;
  const std::size_t before = facts_.size();
  const std::size_t first_dump = dumps_.size();
  Line line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line = {text.substr(0, end), line.number + 1};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!parser || !parser->continues(line)) {
      for (const Format& format : formats()) {
        std::unique_ptr<Parser> opened = format.open(line, context);
        if (!opened) continue;
        parser = std::move(opened);
        sink.begin(format, context, line.number);
        context.device.clear();
        break;
      }
    }
    if (parser && parser->take(line, sink)) continue;
    parser.reset();
    note_command(line.text, context);
  }
  dumps_.erase(std::remove_if(dumps_.begin() + static_cast<std::ptrdiff_t>(first_dump), dumps_.end(),
                              [](const Dump& dump) { return dump.facts == 0; }),
               dumps_.end());
  if (facts_.size() == before)
    throw DumpError(
        fmt::format("{}: contains no dump of a NIC. Dumps are the output of these commands:{}", file, expectation()));
}

void Dumps::keep_device(std::string_view device) {
  const auto of_device = [&](const std::string& subject) {
    return subject == device ||
           (subject.starts_with(device) && subject.size() > device.size() && subject[device.size()] == '/');
  };
  const auto named = [](Kind kind) {
    return kind == Kind::devinfo || kind == Kind::rdma_statistic || kind == Kind::rdma_link;
  };
  if (std::none_of(facts_.begin(), facts_.end(),
                   [&](const Fact& fact) { return named(fact.kind) && of_device(fact.subject); }))
    throw DumpError(fmt::format("no dump of an RDMA device \"{}\"", printable(device)));
  std::erase_if(facts_, [&](const Fact& fact) { return named(fact.kind) && !of_device(fact.subject); });
}

bool Dumps::has(Kind kind) const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const Fact& fact) { return fact.kind == kind; });
}

std::vector<const Fact*> Dumps::all(Kind kind, std::string_view name) const {
  std::vector<const Fact*> out;
  for (const Fact& fact : facts_)
    if (fact.kind == kind && fact.name == name) out.push_back(&fact);
  return out;
}

const Fact* Dumps::first(Kind kind, std::string_view name) const {
  const auto found = all(kind, name);
  return found.empty() ? nullptr : found.front();
}

const Fact* Dumps::of(Kind kind, std::string_view subject, std::string_view name) const {
  const Fact* out = nullptr;
  for (const Fact& fact : facts_)
    if (fact.kind == kind && fact.name == name && fact.subject == subject) out = &fact;
  return out;
}

}  // namespace longhaul::plan::nic
