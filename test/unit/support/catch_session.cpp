// SPDX-License-Identifier: BSD-3-Clause
#include "catch_session.hpp"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

namespace longhaul::test {

int run_test_cases(int argc, char** argv) { return Catch::Session().run(argc, argv); }

}  // namespace longhaul::test
