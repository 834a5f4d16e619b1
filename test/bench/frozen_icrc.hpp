// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/frame.hpp"

namespace longhaul::bench {

/// verify_icrc() as it was when the marks were set: the headers masked in a copy, and ISA-L's CRC-32. It is kept as it
/// is, so that the floor of all measurements stays where it was.
bool frozen_verify_icrc(const wire::Frame& frame) noexcept;

}  // namespace longhaul::bench
