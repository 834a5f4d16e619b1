// SPDX-License-Identifier: BSD-3-Clause
#include "config/control_config.hpp"

#include <algorithm>
#include <cctype>

namespace longhaul::config {

std::string telemetry_name(const std::string& box) {
  std::string out = "longhaul_";
  for (const char c : box) out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  return out;
}

ControlConfig read_control(const Value& value) {
  // sun_path of sockaddr_un, with its terminating zero (unix(7)).
  constexpr std::size_t kLongestPath = 107;
  constexpr std::size_t kModeDigits = 4;
  const Map map = value.map({"socket", "mode", "group", "telemetry"});
  ControlConfig out;
  out.position = value.position();
  if (const auto v = map.find("socket")) {
    out.socket = v->text();
    if (out.socket.front() != '/' || out.socket.back() == '/')
      v->fail_expected("an absolute path such as /run/longhaul/box.sock");
    if (out.socket.size() > kLongestPath) v->fail_expected("a path of at most 107 bytes, the most a socket can have");
  }
  if (const auto v = map.find("mode")) {
    const std::string text = v->text();
    const bool octal = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
    if (!octal || text.size() > kModeDigits || std::stoul(text, nullptr, 8) > 0777)
      v->fail_expected("permissions in octal as for chmod, \"0600\" to \"0777\"");
    out.mode = static_cast<std::uint32_t>(std::stoul(text, nullptr, 8));
  }
  if (const auto v = map.find("group")) out.group = v->text();
  if (const auto v = map.find("telemetry")) out.telemetry = v->boolean();
  for (const char* key : {"mode", "group"})
    if (const auto v = map.find(key); v && out.socket.empty()) v->fail("has no effect without control.socket");
  return out;
}

}  // namespace longhaul::config
