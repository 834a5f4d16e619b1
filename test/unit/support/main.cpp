// SPDX-License-Identifier: BSD-3-Clause
#include "catch_session.hpp"

int main(int argc, char** argv) { return longhaul::test::run_test_cases(argc, argv); }
