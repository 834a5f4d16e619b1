// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>

namespace longhaul::config {

/// A configuration that cannot be used. what() is "FILE:LINE:COLUMN: path.to.key: expected ..., got ...".
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace longhaul::config
