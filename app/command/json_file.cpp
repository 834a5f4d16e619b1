// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/json_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace longhaul::app {

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.flush();
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

void write_atomically(const std::string& path, const std::string& text) {
  std::error_code unknown;
  if (std::filesystem::is_other(std::filesystem::status(path, unknown))) {
    write(path, text);
    return;
  }
  const std::string partial = path + ".partial";
  write(partial, text);
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
}

void write_atomically(const std::string& path, const Json& json) { write_atomically(path, json.dump(2) + "\n"); }

}  // namespace longhaul::app
