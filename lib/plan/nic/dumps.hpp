// SPDX-License-Identifier: BSD-3-Clause
// The input: dumps of NICs' settings and counters as single facts, each with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::plan::nic {

/// The kinds of dump; formats.cpp has the pattern that identifies each, and the command that makes it.
enum class Kind {
  mlxconfig,
  devinfo,
  rings,
  pause,
  speed,
  nic_statistics,
  rdma_statistic,
  rdma_link,
  roce_accl,
  interface,
  pfc,
  pcie,
};

struct Place {
  std::string file;
  std::size_t line = 0;
};

struct Fact {
  Kind kind{};
  std::string_view format;  ///< by name: several formats have the same counters
  std::string subject;      ///< the device, device/port or interface; may be empty
  std::string name;         ///< as in the dump
  std::string value;        ///< as in the dump; the value in effect, as far as the dump tells
  std::string next;         ///< mlxconfig: the value after the next boot, if the dump has it beside the current one
  Place place;
};

struct Dump {
  Kind kind{};
  std::string_view format;
  std::string subject;
  Place place;
  std::size_t facts = 0;
};

/// An unusable file: what() says which file, and what was expected.
class DumpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No dump of a NIC is larger. A larger file is something else.
constexpr std::size_t kLargestFile = 8u << 20;

class Dumps {
 public:
  /// Reads all dumps in a text, in any order, with anything in between (prompts, command lines, prose). Throws
  /// DumpError when there is no dump, or when the file is not text.
  void read(const std::string& file, std::string_view text);

  /// Drops the facts of all other RDMA devices. Throws DumpError when no dump has this device.
  void keep_device(std::string_view device);

  const std::vector<Fact>& facts() const { return facts_; }
  const std::vector<Dump>& list() const { return dumps_; }
  bool has(Kind kind) const;
  std::vector<const Fact*> all(Kind kind, std::string_view name) const;
  const Fact* first(Kind kind, std::string_view name) const;
  /// The last fact read for this subject.
  const Fact* of(Kind kind, std::string_view subject, std::string_view name) const;

 private:
  std::vector<Fact> facts_;
  std::vector<Dump> dumps_;
};

}  // namespace longhaul::plan::nic
