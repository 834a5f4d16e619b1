// SPDX-License-Identifier: BSD-3-Clause
// Any text as a configuration: a ConfigError that names its place, or a configuration within the limits that the rest
// of longhaul relies on. It throws nothing else.
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "config/box_config.hpp"
#include "config/link_config.hpp"
#include "config/quantity.hpp"
#include "expect.hpp"
#include "input.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;

namespace {

void check(const config::PortConfig& port) {
  expect(port.pci.empty() != port.vdev.empty(), "a port is a PCI device or a virtual one");
  expect(port.devargs.empty() || !port.pci.empty(), "only a PCI device has devargs");
  expect(!port.position.empty(), "a port's place in the file");
  for (const char c : port.device()) expect(c > ' ' && c < 0x7f, "a device's name goes into a command line");
}

void check(const config::ProcessConfig& process) {
  if (process.mtu) expect(*process.mtu >= 68 && *process.mtu <= 9978, "MTU");
  if (process.core) expect(*process.core < 1024, "core");
  for (const unsigned core : process.more_cores) expect(process.core && core < 1024 && core != *process.core, "cores");
  expect(process.workers() <= 32, "workers");
  expect(process.memory_bytes == 0 || (process.memory_bytes >= 64ull << 20 && process.memory_bytes <= 1ull << 40),
         "memory");
}

void check_box(const std::string& text) {
  const config::BoxConfig box = config::read_box(config::Value::parse(text, "fuzz.yaml"));
  check(box.host);
  check(box.wan);
  check(box.process);
  expect(box.host.device() != box.wan.device(), "one device is both ports");
  const engine::Settings& engine = box.engine;
  expect(engine.custody_flow_bytes <= engine.custody_box_bytes && engine.custody_box_bytes <= 1ull << 40,
         "custody limits");
  expect(engine.custody_flow_bytes >= 16 << 10 && engine.initial_window_bytes >= 4 << 10, "least custody");
  expect(engine.initial_window_bytes <= engine.custody_flow_bytes, "initial window");
  expect(engine.custody_mbufs >= 64 && engine.custody_mbufs <= 1u << 24, "mbufs");
  expect(box.pools.frames > engine.custody_mbufs, "custody leaves the ports a reserve");
  expect(box.pools.small_frames >= 1024 && box.pools.small_frames <= 1u << 24, "small mbufs");
  expect(engine.max_connections >= 1 && engine.max_connections <= 1u << 20, "connections");
  constexpr Duration kDay = seconds(24 * 3600);
  expect(engine.rto_min >= microseconds(10) && engine.rto_min <= engine.rto_max, "rto_min");
  expect(engine.rto_initial >= microseconds(10) && engine.rto_initial <= engine.rto_max, "rto_initial");
  expect(engine.rto_max <= engine.give_up && engine.give_up <= kDay, "give_up");
  expect(engine.dreq_hold <= kDay && box.drain <= kDay, "dreq_hold and drain");
  expect(engine.reorder_wait <= milliseconds(1), "reorder_wait");
  expect(engine.ack_unasked <= milliseconds(100), "ack_unasked");
  for (const auto& rule : engine.policies.rules) {
    expect(rule.match.length <= 128, "prefix length");
    expect(!rule.match.address.is_ipv4() || rule.match.length >= 96 || rule.match.length == 0 ||
               rule.match.contains(rule.match.address),
           "a prefix contains its own address");
    expect(rule.match.contains(rule.match.address), "a prefix contains its own address");
  }
}

void link_of(const std::string& text) {
  const config::LinkConfig link = config::read_link(config::Value::parse(text, "fuzz.yaml"));
  check(link.a);
  check(link.b);
  check(link.process);
  expect(link.a.device() != link.b.device(), "one device is both ports");
  expect(link.frames >= 8192 && link.frames <= 1u << 24, "frames");
  constexpr Duration kLongest = seconds(60);
  for (const link::DirectionSettings& way : link.link.directions) {
    for (const double fraction : {way.loss, way.duplicate, way.corrupt, way.reorder})
      expect(fraction >= 0 && fraction <= 1, "a fraction");
    expect(way.delay <= kLongest && way.jitter <= kLongest && way.reorder_extra <= kLongest, "a delay");
    expect(way.queue_bytes <= 1ull << 40, "queue");
  }
  for (const link::Event& event : link.link.events) {
    expect(event.psn.has_value() != event.nth.has_value(), "psn or nth");
    expect(!event.psn || *event.psn <= 0xffffff, "PSN");
    expect(!event.qpn || *event.qpn <= 0xffffff, "QPN");
    expect(!event.nth || *event.nth >= 1, "nth");
    expect(event.count >= 1 && event.delay <= kLongest, "count and delay");
    expect(event.delay == 0 || event.action == link::Action::delay, "a delay of something else");
  }
}

/// The value of the number before a unit, by the C library. Nothing if it is not plain digits with at most one point.
std::optional<long double> plain_number(std::string_view text, std::string_view& unit) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string digits(text.substr(0, end));
  unit = end == std::string_view::npos ? "" : text.substr(end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (digits.empty() || digits.find('.') != digits.rfind('.')) return std::nullopt;
  return std::strtold(digits.c_str(), nullptr);
}

long double factor_of(unsigned kind, std::string_view unit) {
  struct Unit {
    unsigned kind;
    std::string_view name;
    long double factor;
  };
  static constexpr std::array kUnits = {Unit{0, "B", 1.0L},
                                        Unit{0, "KiB", 1024.0L},
                                        Unit{0, "MiB", 1048576.0L},
                                        Unit{0, "GiB", 1073741824.0L},
                                        Unit{0, "TiB", 1099511627776.0L},
                                        Unit{0, "kB", 1e3L},
                                        Unit{0, "KB", 1e3L},
                                        Unit{0, "MB", 1e6L},
                                        Unit{0, "GB", 1e9L},
                                        Unit{0, "TB", 1e12L},
                                        Unit{1, "ns", 1.0L},
                                        Unit{1, "us", 1e3L},
                                        Unit{1, "ms", 1e6L},
                                        Unit{1, "s", 1e9L},
                                        Unit{1, "min", 60e9L},
                                        Unit{1, "h", 3600e9L},
                                        Unit{2, "bps", 1.0L},
                                        Unit{2, "kbps", 1e3L},
                                        Unit{2, "Kbps", 1e3L},
                                        Unit{2, "Mbps", 1e6L},
                                        Unit{2, "Gbps", 1e9L},
                                        Unit{2, "Tbps", 1e12L},
                                        Unit{3, "m", 5.0L},
                                        Unit{3, "km", 5000.0L}};
  for (const Unit& known : kUnits)
    if (known.kind == kind && known.name == unit) return known.factor;
  return 0;
}

void quantity(unsigned kind, const std::string& text) {
  if (kind == 4) {
    const double fraction = config::parse_fraction(text);
    expect(fraction >= 0 && fraction <= 1, "a fraction");
    return;
  }
  const std::uint64_t value = kind == 0   ? config::parse_size(text)
                              : kind == 1 ? config::parse_duration(text)
                              : kind == 2 ? config::parse_rate(text)
                                          : config::parse_distance(text);
  std::string_view unit;
  const auto number = plain_number(text, unit);
  expect(number.has_value(), "a quantity without a number");
  const long double right = *number * (unit.empty() ? 0 : factor_of(kind, unit));
  if (unit.empty()) expect(*number == 0, "a number without a unit");
  // A long double holds 64 bits, so a whole result is exact, except for rounded fractions.
  expect(std::fabs(static_cast<long double>(value) - right) <= right * 1e-17L, "a quantity's value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t mode = input.u8();
  const auto rest = input.rest();
  const std::string text(rest.begin(), rest.end());
  try {
    if (mode == 'b')
      check_box(text);
    else if (mode == 'l')
      link_of(text);
    else
      quantity(mode % 5, text);
    if (defect("throws")) throw std::out_of_range("map::at");
  } catch (const config::ConfigError& error) {
    const std::string_view what = error.what();
    expect(what.starts_with("fuzz.yaml") && what.find(": ") != std::string_view::npos, "an error without its place");
    expect(!defect("no-error"), "refused");
  } catch (const config::QuantityError& error) {
    expect(mode != 'b' && mode != 'l', "a quantity's error without its place");
    expect(std::string_view(error.what()).starts_with("expected "), "an error that does not say what was expected");
  }
  return 0;
}
