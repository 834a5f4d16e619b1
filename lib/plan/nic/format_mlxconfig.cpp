// SPDX-License-Identifier: BSD-3-Clause
// `mlxconfig -d DEVICE query`, `-e query` and mstconfig's the same:
//
//   Device #1:
//   Device type:        ConnectX6DX
//   Device:             0000:3b:00.0
//   Configurations:                          Default         Current         Next Boot
//           MEMIC_BAR_SIZE                   0               0               0
//   *       LOG_MAX_OUTSTANDING_WQE          7               7               14
//
// Without -e there is only the last column, and nothing shows what is in effect now.
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

/// Settings that identify lines cut out with grep as mlxconfig's.
constexpr std::string_view kWellKnown[] = {
    "LOG_MAX_OUTSTANDING_WQE", "RDMA_SELECTIVE_REPEAT_EN", "ROCE_CONTROL", "LOG_TX_PSN_WINDOW", "LINK_TYPE_P1",
    "ROCE_CC_PRIO_MASK_P1"};

struct Setting {
  std::string_view name;
  std::vector<std::string_view> values;
};

/// NAME VALUE..., after mlxconfig's marks for a changed value or a read-only one.
Setting setting(std::string_view line) {
  auto all = words(line, 8);
  while (!all.empty() && (all.front() == "*" || all.front() == "RO" || all.front() == "[RO]")) all.erase(all.begin());
  if (all.size() < 2 || all.size() > 4 || !is_name(all.front())) return {};
  bool upper = all.front().size() >= 4;
  // EXP_ROM_UEFI_x86_ENABLE has an x; "Link detected" is not a setting.
  upper = upper && all.front()[0] >= 'A' && all.front()[0] <= 'Z' && all.front()[1] <= 'Z';
  if (!upper) return {};
  return {all.front(), {all.begin() + 1, all.end()}};
}

class MlxconfigParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    const std::string_view text = trim(line.text);
    if (text.empty() || text.find_first_not_of('-') == std::string_view::npos) return true;
    if (text.starts_with("Configurations:")) {
      columns_ = words(text.substr(15)).size();
      // "Next Boot" is two words.
      if (columns_ > 0) --columns_;
      return true;
    }
    if (const auto pair = key_value(text)) {
      if (pair->key == "Device") sink.subject(pair->value);
      if (pair->key.starts_with("Device") || pair->key == "Name" || pair->key == "Description") return true;
    }
    if (text.starts_with("The '*'")) return true;
    const Setting found = setting(text);
    if (found.values.empty()) return false;
    // One column is the next boot's. Of two or three, the last but one is in effect.
    const bool both = found.values.size() >= 2 && columns_ != 1;
    sink.fact(line.number, found.name, both ? found.values[found.values.size() - 2] : found.values.back(),
              both ? found.values.back() : std::string_view{});
    return true;
  }
  bool continues(const Line& line) const override {
    const std::string_view text = trim(line.text);
    return text.starts_with("Configurations:") || !setting(text).values.empty();
  }

 private:
  std::size_t columns_ = 0;  ///< 0: no heading was read
};

bool well_known(std::string_view line) {
  const Setting found = setting(line);
  if (found.values.empty() || found.values.size() == 2) return false;
  for (const std::string_view name : kWellKnown)
    if (found.name == name) return true;
  return false;
}

}  // namespace

std::unique_ptr<Parser> open_mlxconfig(const Line& line, const Context& context) {
  const std::string_view text = trim(line.text);
  if (!text.starts_with("Device #") && !text.starts_with("Configurations:") && !well_known(text)) return nullptr;
  return std::make_unique<MlxconfigParser>();
}

}  // namespace longhaul::plan::nic
