// SPDX-License-Identifier: BSD-3-Clause
// The shortest configuration of a box, and more.
#pragma once

#include <string>

#include "config/box_config.hpp"

namespace longhaul::test {

inline const std::string kPorts =
    "ports:\n  host: {vdev: \"net_null0\"}\n  wan: {pci: \"0000:01:00.1\"}\n";  // lines 1 to 3

inline config::BoxConfig box_of(const std::string& more) {
  return config::read_box(config::Value::parse(kPorts + more, "box.yaml"));
}

}  // namespace longhaul::test
