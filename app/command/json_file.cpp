// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/json_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::app {

void write_atomically(const std::string& path, const Json& json) {
  const std::string partial = path + ".partial";
  {
    std::ofstream file(partial, std::ios::trunc);
    file << json.dump(2) << '\n';
    file.flush();
    if (!file) throw std::runtime_error(fmt::format("{}: cannot be written: {}", partial, std::strerror(errno)));
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace longhaul::app
