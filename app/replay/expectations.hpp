// SPDX-License-Identifier: BSD-3-Clause
// The file of --expect and --write-expect: counters by capture.
#pragma once

#include <string>

#include "app/command/json_file.hpp"

namespace longhaul::app {

/// Captures are named by their path from the file's directory, so that it does not matter where a run was started.
class Expectations {
 public:
  /// An empty one, to be written to `path`.
  explicit Expectations(std::string path);

  /// Throws std::runtime_error that names the file when it is not one of --write-expect.
  static Expectations read(const std::string& path);

  /// The counters of a capture, or null if the file has none.
  const Json* find(const std::string& capture) const;
  /// A message that says that it has none.
  std::string absence(const std::string& capture) const;

  void add(const std::string& capture, Json counters);
  void write() const;

 private:
  std::string key(const std::string& capture) const;

  std::string path_;
  Json captures_ = Json::object();
};

}  // namespace longhaul::app
