// SPDX-License-Identifier: BSD-3-Clause
#include "app/plan/workload_files.hpp"

#include <algorithm>
#include <system_error>

namespace longhaul::app {
namespace {

namespace fs = std::filesystem;

/// The directories of the named workloads: beside the installed program, or in the repository that it was built in.
std::vector<fs::path> places() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path here = program.parent_path();
  return {here.parent_path() / "share" / "longhaul" / "workloads",
          here.parent_path().parent_path() / "config" / "workloads"};
}

}  // namespace

std::vector<fs::path> workload_files() {
  for (const fs::path& place : places()) {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator file(place, error), end; !error && file != end; file.increment(error))
      if (file->path().extension() == ".yaml") files.push_back(file->path());
    std::sort(files.begin(), files.end());
    if (!files.empty()) return files;
  }
  return {};
}

}  // namespace longhaul::app
