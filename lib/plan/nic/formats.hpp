// SPDX-License-Identifier: BSD-3-Clause
// The formats of dumps: one table row and one small parser each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plan/nic/dumps.hpp"

namespace longhaul::plan::nic {

struct Line {
  std::string_view text;
  std::size_t number = 0;
};

/// What the command lines between dumps say: "ethtool -g eth2", "mlxreg -d 5e:00.0".
struct Context {
  std::string device;
};

/// Receives what a parser finds.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void subject(std::string_view subject) = 0;  ///< of the facts that follow
  virtual void fact(std::size_t line, std::string_view name, std::string_view value, std::string_view next = {}) = 0;
};

class Parser {
 public:
  virtual ~Parser() = default;
  /// One more line of the dump; false if the line is not part of it: the dump has ended.
  virtual bool take(const Line& line, Sink& sink) = 0;
  /// Whether this line, which could open a dump, belongs to the current one.
  virtual bool continues(const Line& line) const { return false; }
};

struct Format {
  Kind kind{};
  std::string_view name;
  std::string_view command;  ///< that produces such a dump
  std::string_view tells;    ///< what a long haul needs from it
  bool asked_for = true;     ///< reported to the user when no file has it
  /// Returns a parser when a dump begins with this line. The parser is given this line first.
  std::unique_ptr<Parser> (*open)(const Line& line, const Context& context);
};

std::span<const Format> formats();
const Format& format_of(Kind kind);

// The parsers, by file.
std::unique_ptr<Parser> open_mlxconfig(const Line& line, const Context& context);
std::unique_ptr<Parser> open_devinfo(const Line& line, const Context& context);
std::unique_ptr<Parser> open_rings(const Line& line, const Context& context);
std::unique_ptr<Parser> open_pause(const Line& line, const Context& context);
std::unique_ptr<Parser> open_speed(const Line& line, const Context& context);
std::unique_ptr<Parser> open_nic_statistics(const Line& line, const Context& context);
std::unique_ptr<Parser> open_interface(const Line& line, const Context& context);
std::unique_ptr<Parser> open_pfc(const Line& line, const Context& context);
std::unique_ptr<Parser> open_rdma_statistic(const Line& line, const Context& context);
std::unique_ptr<Parser> open_hw_counters(const Line& line, const Context& context);
std::unique_ptr<Parser> open_rdma_json(const Line& line, const Context& context);
std::unique_ptr<Parser> open_rdma_link(const Line& line, const Context& context);
std::unique_ptr<Parser> open_roce_accl(const Line& line, const Context& context);
std::unique_ptr<Parser> open_pcie(const Line& line, const Context& context);

}  // namespace longhaul::plan::nic
