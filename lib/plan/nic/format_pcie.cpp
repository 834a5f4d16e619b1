// SPDX-License-Identifier: BSD-3-Clause
// `lspci -vv`; only network controllers matter:
//
//   3b:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]
//   		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
//   		LnkSta:	Speed 16GT/s (ok), Width x16 (ok)
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

class PcieParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    if (first_) {
      first_ = false;
      sink.subject(words(line.text, 1).front());
      return true;
    }
    const std::string_view text = trim(line.text);
    if (text.empty()) return false;
    if (const auto pair = key_value(text); pair && (pair->key == "LnkSta" || pair->key == "LnkCap"))
      sink.fact(line.number, pair->key, pair->value);
    return line.text.front() == '\t' || line.text.front() == ' ';
  }
  bool continues(const Line& line) const override { return !line.text.empty() && line.text.front() == '\t'; }

 private:
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Parser> open_pcie(const Line& line, const Context& context) {
  const auto all = words(line.text, 3);
  if (all.size() < 3 || all[0].find(':') == std::string_view::npos || all[0].find('.') == std::string_view::npos ||
      !is_name(all[0], ":."))
    return nullptr;
  if ((all[1] != "Ethernet" && all[1] != "Infiniband" && all[1] != "Network") || all[2] != "controller:")
    return nullptr;
  return std::make_unique<PcieParser>();
}

}  // namespace longhaul::plan::nic
