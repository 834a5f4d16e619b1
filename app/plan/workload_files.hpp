// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <vector>

namespace longhaul::app {

/// The workloads that come with the program, one YAML file each, sorted. A workload is called as its file without
/// ".yaml".
std::vector<std::filesystem::path> workload_files();

}  // namespace longhaul::app
