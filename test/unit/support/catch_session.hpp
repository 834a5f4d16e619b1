// SPDX-License-Identifier: BSD-3-Clause
// Catch2's own code is compiled once, for all test programs.
#pragma once

namespace longhaul::test {

/// Runs the program's test cases as the command line says. Returns the exit code.
int run_test_cases(int argc, char** argv);

}  // namespace longhaul::test
