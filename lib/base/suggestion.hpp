// SPDX-License-Identifier: BSD-3-Clause
// Words for errors about names: which there are, and which one was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// The candidate that `word` most likely meant; empty when none is close.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean \"full\"?", to end a message; empty when no candidate is close.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// "off, window or full".
std::string alternatives(std::span<const std::string_view> names);

}  // namespace longhaul
