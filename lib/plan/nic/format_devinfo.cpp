// SPDX-License-Identifier: BSD-3-Clause
// `ibv_devinfo [-v]`, of one device or several:
//
//   hca_id:	mlx5_0
//   	transport:			InfiniBand (0)
//   	max_qp_wr:			32768
//   		port:	1
//   			state:			PORT_ACTIVE (4)
//   			active_mtu:		4096 (5)
//
// Subjects are "mlx5_0" before the first port, then "mlx5_0/1".
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

class DevinfoParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    const std::string_view text = trim(line.text);
    if (text.empty()) return true;
    const auto pair = key_value(text);
    if (pair && pair->key == "hca_id") {
      device_ = pair->value;
      sink.subject(device_);
      return true;
    }
    const bool indented = line.text.front() == ' ' || line.text.front() == '\t';
    if (!pair || !is_lower_name(pair->key)) return indented || text.starts_with("Device ports:");
    if (pair->key == "port") {
      sink.subject(device_ + "/" + std::string(pair->value));
      return true;
    }
    if (!pair->value.empty()) sink.fact(line.number, pair->key, pair->value);
    return true;
  }
  bool continues(const Line& line) const override { return !line.text.empty() && line.text.front() == '\t'; }

 private:
  std::string device_;
};

}  // namespace

std::unique_ptr<Parser> open_devinfo(const Line& line, const Context& context) {
  if (!trim(line.text).starts_with("hca_id:")) return nullptr;
  return std::make_unique<DevinfoParser>();
}

}  // namespace longhaul::plan::nic
