// SPDX-License-Identifier: BSD-3-Clause
// `mlxreg -d DEVICE --reg_name ROCE_ACCL --get` and mstreg's the same:
//
//   Field Name                             | Data
//   ====================================================
//   roce_adp_retrans_en                    | 0x00000001
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

class RegisterParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    const std::string_view text = trim(line.text);
    if (text.empty() || text.find_first_not_of('=') == std::string_view::npos || text.starts_with("Field Name"))
      return true;
    const std::size_t bar = text.find('|');
    if (bar == std::string_view::npos) return false;
    const std::string_view name = trim(text.substr(0, bar));
    const std::string_view value = trim(text.substr(bar + 1));
    if (!is_name(name, "_[]") || !number(value)) return false;
    sink.fact(line.number, name, value);
    return true;
  }
};

}  // namespace

std::unique_ptr<Parser> open_roce_accl(const Line& line, const Context& context) {
  const std::string_view text = trim(line.text);
  if (!text.starts_with("Field Name") || text.find('|') == std::string_view::npos) return nullptr;
  return std::make_unique<RegisterParser>();
}

}  // namespace longhaul::plan::nic
