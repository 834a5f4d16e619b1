// SPDX-License-Identifier: BSD-3-Clause
// Dumps of the Ethernet side: `ethtool -g`, `-a`, `-S` and without an option, `ip link`, `mlnx_qos`.
#include "plan/nic/formats.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

/// "HEADING INTERFACE:" at the beginning of the line; returns the interface.
std::string_view heading(const Line& line, std::string_view words_before) {
  std::string_view text = trim(line.text);
  if (!text.starts_with(words_before) || !text.ends_with(':')) return {};
  text.remove_prefix(words_before.size());
  text.remove_suffix(1);
  return trim(text);
}

/// Lines "Key: value" below a heading, in sections such as "Current hardware settings:". Blank lines are skipped.
class KeyValueParser : public Parser {
 public:
  explicit KeyValueParser(std::string_view interface) : interface_(interface) {}

  bool take(const Line& line, Sink& sink) override {
    if (first_) {
      sink.subject(interface_);
      first_ = false;
      return true;
    }
    const std::string_view text = trim(line.text);
    if (text.empty()) return true;
    const auto pair = key_value(text);
    // A prompt such as [root@host:~]# is not part of the dump.
    if (!pair || !is_name(pair->key, "_ -/.()[]")) return line.text.front() == '\t';
    if (pair->value.empty()) {
      section_ = pair->key;
      return true;
    }
    keep(line, *pair, sink);
    return true;
  }

 protected:
  virtual void keep(const Line& line, const KeyValue& pair, Sink& sink) {
    sink.fact(line.number, pair.key, pair.value);
  }

  std::string section_;

 private:
  std::string interface_;
  bool first_ = true;
};

/// Two sections with the same keys: the current settings, and the possible ones as "RX maximum".
class RingsParser final : public KeyValueParser {
 public:
  using KeyValueParser::KeyValueParser;

 private:
  void keep(const Line& line, const KeyValue& pair, Sink& sink) override {
    const bool most = section_.starts_with("Pre-set");
    sink.fact(line.number, std::string(pair.key) + (most ? " maximum" : ""), pair.value);
  }
};

class InterfaceParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    if (!first_) return false;
    first_ = false;
    const auto all = words(line.text, 24);
    std::string_view name = all[1];
    name.remove_suffix(1);
    sink.subject(name.substr(0, name.find('@')));
    for (std::size_t i = 2; i + 1 < all.size(); ++i)
      if (all[i] == "mtu") sink.fact(line.number, "mtu", all[i + 1]);
    return true;
  }

 private:
  bool first_ = true;
};

/// "PFC configuration:", then "priority 0 1 ..." and "enabled 0 0 ...".
class PfcParser final : public Parser {
 public:
  bool take(const Line& line, Sink& sink) override {
    const std::string_view text = trim(line.text);
    if (text.starts_with("PFC configuration:") || text.starts_with("priority") || text.empty()) return true;
    if (!text.starts_with("enabled")) return false;
    std::string enabled;
    for (const std::string_view word : words(text.substr(7), 8)) enabled += word;
    sink.fact(line.number, "enabled", enabled);
    return true;
  }
};

}  // namespace

std::unique_ptr<Parser> open_rings(const Line& line, const Context& context) {
  const std::string_view interface = heading(line, "Ring parameters for ");
  return interface.empty() ? nullptr : std::make_unique<RingsParser>(interface);
}

std::unique_ptr<Parser> open_pause(const Line& line, const Context& context) {
  const std::string_view interface = heading(line, "Pause parameters for ");
  return interface.empty() ? nullptr : std::make_unique<KeyValueParser>(interface);
}

std::unique_ptr<Parser> open_speed(const Line& line, const Context& context) {
  const std::string_view interface = heading(line, "Settings for ");
  return interface.empty() ? nullptr : std::make_unique<KeyValueParser>(interface);
}

std::unique_ptr<Parser> open_nic_statistics(const Line& line, const Context& context) {
  if (trim(line.text) != "NIC statistics:") return nullptr;
  return std::make_unique<KeyValueParser>(context.device);
}

std::unique_ptr<Parser> open_interface(const Line& line, const Context& context) {
  const auto all = words(line.text, 5);
  if (all.size() < 5 || !all[0].ends_with(':') || !number(all[0].substr(0, all[0].size() - 1))) return nullptr;
  if (!all[1].ends_with(':') || all[1].size() < 2 || !all[2].starts_with('<') || all[3] != "mtu") return nullptr;
  return std::make_unique<InterfaceParser>();
}

std::unique_ptr<Parser> open_pfc(const Line& line, const Context& context) {
  if (!trim(line.text).starts_with("PFC configuration:")) return nullptr;
  return std::make_unique<PfcParser>();
}

}  // namespace longhaul::plan::nic
