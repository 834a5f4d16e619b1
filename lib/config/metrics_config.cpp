// SPDX-License-Identifier: BSD-3-Clause
#include "config/metrics_config.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace longhaul::config {
namespace {

constexpr unsigned long kLastPort = 65535;

bool is_address(int family, const std::string& text) {
  in6_addr address{};
  return inet_pton(family, text.c_str(), &address) == 1;
}

/// For example "127.0.0.1:9464" or "[::1]:9464".
bool is_listen_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::string port = text.substr(colon + 1);
  const bool digits = std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (port.empty() || port.size() > 5 || !digits || std::stoul(port) == 0 || std::stoul(port) > kLastPort) return false;
  const std::string address = text.substr(0, colon);
  if (address.front() == '[' && address.back() == ']')
    return is_address(AF_INET6, address.substr(1, address.size() - 2));
  return is_address(AF_INET, address);
}

}  // namespace

MetricsConfig read_metrics(const Value& value) {
  const Map map = value.map({"listen", "host_pairs"});
  MetricsConfig out;
  const Value listen = map.at("listen");
  out.listen = listen.text();
  out.position = listen.position();
  if (!is_listen_address(out.listen))
    listen.fail_expected(
        "an address and a port such as 127.0.0.1:9464 or [::1]:9464 (0.0.0.0:9464: all IPv4 addresses)");
  if (const auto v = map.find("host_pairs")) out.host_pairs = static_cast<unsigned>(v->integer(0, kMostPairs));
  return out;
}

}  // namespace longhaul::config
