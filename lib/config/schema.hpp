// SPDX-License-Identifier: BSD-3-Clause
// What the values of keys look like, as a table; and JSON Schema (draft 7) made of it, for editors and other programs.
// The schema refuses no file that is read without an error. What depends on several values at once only the reader
// itself knows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/quantity.hpp"

namespace longhaul::config {

struct SchemaKey;

/// What a value looks like.
struct Form {
  enum class Kind : std::uint8_t { text, boolean, integer, quantity, fraction, choice, object, list };
  Kind kind = Kind::text;
  std::string_view pattern = {};              ///< of a text; empty: any
  Quantity quantity = Quantity::size;         ///< of a quantity
  std::uint64_t least = 0;                    ///< of an integer, or the least keys of an object (of a list's, too)
  std::uint64_t most = UINT64_MAX;            ///< the same
  std::span<const std::string_view> names{};  ///< of a choice; otherwise words that are allowed, too
  std::span<const SchemaKey> keys{};          ///< of an object, or of the objects of a list; a list without: integers

  /// Any text; one that looks like a number is one, too.
  static constexpr Form text() { return {Kind::text}; }
  static constexpr Form text(std::string_view pattern) { return {Kind::text, pattern}; }
  static constexpr Form boolean() { return {Kind::boolean}; }
  static constexpr Form integer(std::uint64_t least, std::uint64_t most) {
    return {Kind::integer, {}, {}, least, most};
  }
  /// Or one of `words`. The number may be quoted.
  static constexpr Form integer(std::uint64_t least, std::uint64_t most, std::span<const std::string_view> words) {
    return {Kind::integer, {}, {}, least, most, words};
  }
  static constexpr Form of(Quantity quantity, std::span<const std::string_view> words = {}) {
    return {Kind::quantity, {}, quantity, 0, UINT64_MAX, words};
  }
  static constexpr Form fraction() { return {Kind::fraction}; }
  static constexpr Form choice(std::span<const std::string_view> names) {
    return {Kind::choice, {}, {}, 0, UINT64_MAX, names};
  }
  /// An object with these keys only, and with at least `least` of them.
  static constexpr Form object(std::span<const SchemaKey> keys, std::uint64_t least = 0) {
    return {Kind::object, {}, {}, least, UINT64_MAX, {}, keys};
  }
  /// A list of objects, each with these keys only and with at least `least` of them.
  static constexpr Form list(std::span<const SchemaKey> keys, std::uint64_t least = 0) {
    return {Kind::list, {}, {}, least, UINT64_MAX, {}, keys};
  }
  /// Different whole numbers from 0 to `last`, 1 to `entries` of them.
  static constexpr Form numbers(std::uint64_t last, std::uint64_t entries) {
    return {Kind::list, {}, {}, last, entries};
  }
};

struct SchemaKey {
  std::string_view name;  ///< "timers.give_up": a key inside another has a dot
  Form form;
  std::string_view help;  ///< one or more sentences, with the default
  bool required = false;
  std::string_view needs = {};     ///< a key beside it without which it may not stand
  std::string_view excludes = {};  ///< a key beside it that may not stand with it
  bool live = false;               ///< a reload of a running box applies it
};

/// The help of `log.format`, the same for every process.
inline constexpr std::string_view kLogFormatHelp =
    "text (default): lines for people; json: an object a line, with ts, level, name and message.";

/// The keys of one port.
inline constexpr SchemaKey kPortKeys[] = {
    {"pci",
     Form::text("^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}[.][0-9a-fA-F]$"),
     "PCI address of a NIC, as lspci -D prints it: \"0000:01:00.0\".",
     false,
     {},
     "vdev"},
    {"vdev", Form::text("^[A-Za-z][!-~]*$"), "A virtual device of DPDK: \"net_af_packet0,iface=veth0\"."},
    {"devargs", Form::text("^[A-Za-z][!-~]*$"),
     "Arguments of the NIC's DPDK driver, such as \"rx_low_latency=1\" (docs/operate/nics.md; default: none).", false,
     "pci"},
};

using Json = nlohmann::ordered_json;

/// The schema of a configuration file with these keys.
Json json_schema(std::string_view title, std::span<const SchemaKey> keys);

/// The keys as a Markdown table; "custody.least_frame" stands for itself, keys of lists are left to the help.
std::string keys_table(std::span<const SchemaKey> keys);

/// The keys of `longhaul run`, and of `longhaul link`.
std::span<const SchemaKey> box_schema_keys();
std::span<const SchemaKey> link_schema_keys();

}  // namespace longhaul::config
