// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/expectations.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::app {
namespace {

/// Says what the file is, and its format should that ever change.
constexpr const char* kFormat = "longhaul_replay_expectations";
constexpr int kVersion = 1;

}  // namespace

Expectations::Expectations(std::string path) : path_(std::move(path)) {}

Expectations Expectations::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  const Json json = Json::parse(file, nullptr, false);
  const bool sound = json.is_object() && json.contains(kFormat) && json[kFormat] == kVersion &&
                     json.contains("captures") && json["captures"].is_object();
  Expectations read(path);
  if (sound) read.captures_ = json["captures"];
  for (const auto& [capture, counters] : read.captures_.items()) {
    const bool whole = counters.is_object() && counters.contains("nothing_compared") &&
                       counters["nothing_compared"].is_string() && counters.contains("totals") &&
                       counters["totals"].is_object() && counters.contains("flows") && counters["flows"].is_object();
    if (!whole) throw std::runtime_error(fmt::format("{}: {}: not as --write-expect writes it", path, capture));
  }
  if (!sound) throw std::runtime_error(fmt::format("{}: not a file that --write-expect has written", path));
  return read;
}

std::string Expectations::key(const std::string& capture) const {
  namespace fs = std::filesystem;
  return fs::proximate(fs::absolute(capture), fs::absolute(path_).parent_path()).generic_string();
}

const Json* Expectations::find(const std::string& capture) const {
  const auto found = captures_.find(key(capture));
  return found == captures_.end() ? nullptr : &*found;
}

std::string Expectations::absence(const std::string& capture) const {
  return fmt::format("{} has no capture {}: write it again with --write-expect", path_, key(capture));
}

void Expectations::add(const std::string& capture, Json counters) { captures_[key(capture)] = std::move(counters); }

void Expectations::write() const { write_atomically(path_, {{kFormat, kVersion}, {"captures", captures_}}); }

}  // namespace longhaul::app
