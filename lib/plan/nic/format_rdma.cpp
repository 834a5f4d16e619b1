// SPDX-License-Identifier: BSD-3-Clause
// `rdma statistic show [link DEVICE/PORT] [-p]`, `rdma link`, and the same counters from sysfs:
//
//   link mlx5_0/1 rx_write_requests 0 rx_read_requests 0 out_of_buffer 0 ...
//   link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev enp59s0f0np0
//   /sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer:0
//
// Line breaks may be anywhere between names and numbers: -p prints one pair per line, mail programs break long lines.
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

constexpr std::size_t kManyCounters = 512;

/// "link DEVICE/PORT": sets the subject, and the words after it.
bool is_link(const Line& line, std::vector<std::string_view>& rest, std::string_view* subject = nullptr) {
  rest = words(line.text, kManyCounters);
  if (rest.size() < 2 || rest[0] != "link" || !is_name(rest[1], "_-./") || rest[1].find('/') == std::string_view::npos)
    return false;
  if (subject != nullptr) *subject = rest[1];
  rest.erase(rest.begin(), rest.begin() + 2);
  return true;
}

bool begins_link(const Line& line) { return trim(line.text).starts_with("link "); }

class StatisticParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    std::vector<std::string_view> rest;
    std::string_view subject;
    if (is_link(line, rest, &subject)) {
      sink.subject(subject);
      name_.clear();
    }
    for (const std::string_view word : rest) {
      if (name_.empty()) {
        if (!is_lower_name(word)) return false;
        name_ = word;
        continue;
      }
      if (!number(word)) return false;
      sink.fact(line.number, name_, word);
      name_.clear();
    }
    return true;
  }

 private:
  std::string name_;  ///< name of the number that comes next
};

class LinkParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    std::vector<std::string_view> rest;
    std::string_view subject;
    if (!is_link(line, rest, &subject)) return false;
    sink.subject(subject);
    for (std::size_t i = 0; i + 1 < rest.size(); i += 2) sink.fact(line.number, rest[i], rest[i + 1]);
    return true;
  }
};

constexpr std::string_view kCounters = "/hw_counters/";

class HwCountersParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    const std::string_view text = trim(line.text);
    const std::size_t at = text.find(kCounters);
    const std::size_t colon = text.rfind(':');
    if (at == std::string_view::npos || colon == std::string_view::npos || colon < at) return false;
    const std::string_view name = text.substr(at + kCounters.size(), colon - at - kCounters.size());
    const std::string_view value = trim(text.substr(colon + 1));
    if (!is_lower_name(name) || !number(value)) return false;
    sink.subject(subject_of(text.substr(0, at)));
    sink.fact(line.number, name, value);
    return true;
  }
  bool continues(const Line& line) const override { return line.text.find(kCounters) != std::string_view::npos; }

 private:
  /// ".../infiniband/mlx5_0/ports/1" as "mlx5_0/1".
  static std::string subject_of(std::string_view path) {
    std::string_view parts[3];
    for (int i = 2; i >= 0; --i) {
      const std::size_t slash = path.rfind('/');
      parts[i] = path.substr(slash + 1);
      path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
    return parts[1] == "ports" ? std::string(parts[0]) + "/" + std::string(parts[2]) : std::string();
  }
};

}  // namespace

std::unique_ptr<Parser> open_rdma_statistic(const Line& line, const Context& context) {
  std::vector<std::string_view> rest;
  if (!begins_link(line) || !is_link(line, rest)) return nullptr;
  if (rest.size() >= 2 && !number(rest[1])) return nullptr;
  return std::make_unique<StatisticParser>();
}

std::unique_ptr<Parser> open_rdma_link(const Line& line, const Context& context) {
  std::vector<std::string_view> rest;
  if (!begins_link(line) || !is_link(line, rest) || rest.size() < 2 || rest[0] != "state") return nullptr;
  return std::make_unique<LinkParser>();
}

std::unique_ptr<Parser> open_hw_counters(const Line& line, const Context& context) {
  if (line.text.find(kCounters) == std::string_view::npos) return nullptr;
  return std::make_unique<HwCountersParser>();
}

}  // namespace longhaul::plan::nic
