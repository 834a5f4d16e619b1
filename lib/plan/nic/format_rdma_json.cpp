// SPDX-License-Identifier: BSD-3-Clause
// `rdma -j statistic show`, with -p or without:
// [{"ifindex":0,"ifname":"mlx5_0","port":1,"rx_write_requests":0,...},...]
#include <algorithm>

#include <nlohmann/json.hpp>

#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

using Json = nlohmann::ordered_json;

/// Enough for a thousand links.
constexpr std::size_t kLargestJson = 4u << 20;

class RdmaJsonParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    if (done_ || text_.size() + line.text.size() > kLargestJson) return false;
    if (text_.empty()) first_line_ = line.number;
    text_ += line.text;
    text_ += '\n';
    for (const char c : line.text) follow(c);
    if (depth_ > 0) return true;
    done_ = true;
    const Json parsed = Json::parse(text_, nullptr, false);
    if (parsed.is_object()) add(parsed, sink);
    if (parsed.is_array())
      for (const Json& one : parsed) add(one, sink);
    return true;
  }
  bool continues(const Line& line) const override { return !done_; }

 private:
  void follow(char c) {
    if (in_string_) {
      if (c == '"' && !escaped_) in_string_ = false;
      escaped_ = c == '\\' && !escaped_;
      return;
    }
    in_string_ = c == '"';
    if (c == '[' || c == '{') ++depth_;
    if (c == ']' || c == '}') --depth_;
  }

  /// Keys come in the order of the text, so the search for each starts after the previous one.
  std::size_t line_of(const std::string& key) {
    const std::size_t found = text_.find('"' + key + '"', at_);
    if (found == std::string::npos) return first_line_;
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    at_ = found + 1;
    return first_line_ + line_;
  }

  void add(const Json& link, Sink& sink) {
    if (!link.is_object()) return;
    const auto device = link.find("ifname");
    if (device == link.end() || !device->is_string()) return;
    const auto port = link.find("port");
    const std::string subject =
        device->get<std::string>() +
        (port != link.end() && port->is_number_unsigned() ? "/" + std::to_string(port->get<std::uint64_t>()) : "");
    sink.subject(subject);
    for (const auto& [key, value] : link.items()) {
      const std::size_t line = line_of(key);
      if (key == "ifindex" || key == "port" || !is_lower_name(key) || !value.is_number_unsigned()) continue;
      sink.fact(line, key, std::to_string(value.get<std::uint64_t>()));
    }
  }

  std::string text_;
  std::size_t first_line_ = 0;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Parser> open_rdma_json(const Line& line, const Context& context) {
  const std::string_view text = trim(line.text);
  // A prompt "[root@host ~]# " is not JSON.
  const bool begins = text == "[" || text == "{" || text == "[ {" || text == "[{" || text.starts_with("[{\"if") ||
                      text.starts_with("{\"if");
  return begins ? std::make_unique<RdmaJsonParser>() : nullptr;
}

}  // namespace longhaul::plan::nic
