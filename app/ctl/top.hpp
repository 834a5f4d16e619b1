// SPDX-License-Identifier: BSD-3-Clause
// `longhaul ctl top`: what a box does now.
#pragma once

#include <functional>
#include <string>

#include "app/protocol/reply.hpp"

namespace longhaul::app {

/// Asks the box; the argument is a command's name.
using AskBox = std::function<Json(const char* command)>;

struct TopOptions {
  double interval = 1;  ///< seconds that the rates are for
  bool once = false;
  bool json = false;  ///< only with `once`
};

/// Shows rates, custody, what is not accelerated and why, and the busiest pairs of hosts, until q is pressed or a
/// signal ends the process. Throws CommandError: what `ask` throws, and if standard output is no terminal and `once` is
/// false.
void top(const AskBox& ask, const TopOptions& options);

}  // namespace longhaul::app
