// SPDX-License-Identifier: BSD-3-Clause
#include "app/command/completion.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace longhaul::app;

namespace {

// Not longhaul's commands: test/commands completes those, by the shells themselves.
struct Program {
  CLI::App app{"a program", "program"};
  std::string interface;
  std::vector<std::string> files;
  std::string mode;
  bool quick = false;

  Program() {
    CLI::App* command = app.add_subcommand("attach", "attach to interfaces\nand stay there");
    command->add_option("--interface", interface, "where")->type_name("INTERFACE");
    command->add_option("--mode", mode, "how")->type_name("slow|fast");
    command->add_flag("--quick,-q", quick, "hurry");
    command->add_option("file", files, "which")->type_name("FILE");
    app.add_subcommand("secret", "not for people")->group("");
  }

  std::string lines(std::vector<std::string> words) const {
    const ValueSources sources = {{"INTERFACE", [] { return std::vector<std::string>{"eth0", "eth1", "lo"}; }}};
    return complete(app, words, sources).to_lines();
  }
};

}  // namespace

TEST_CASE("Values come from what the help calls them", "[completion]") {
  const Program program;
  CHECK(program.lines({"attach", "--interface", "e"}) == "eth0\t\neth1\t\n:\n");
  CHECK(program.lines({"attach", "--interface=l"}) == "--interface=lo\t\n:\n");
  CHECK(program.lines({"attach", "--mode", ""}) == "slow\t\nfast\t\n:\n");
  CHECK(program.lines({"attach", "--quick", ""}) == ":files\n");
  CHECK(program.lines({"attach", "a", "b", "c"}) == ":files\n");
}

TEST_CASE("Commands and options have the first line of their description", "[completion]") {
  const Program program;
  CHECK(program.lines({""}) == "attach\tattach to interfaces\n:\n");
  CHECK(program.lines({"attach", "--i"}) == "--interface\twhere\n:\n");
  CHECK(program.lines({"attach", "-q", "--qui"}) == ":\n");
}

TEST_CASE("What nobody knows is no reason to fail", "[completion]") {
  const Program program;
  CHECK(program.lines({}) == ":\n");
  CHECK(program.lines({"detach", "--no-such", "x", ""}) == "attach\tattach to interfaces\n:\n");
  CHECK(program.lines({"attach", "--no-such=", ""}) == ":files\n");
  CHECK(program.lines({"attach", "--no-such=x"}) == ":\n");
  CHECK(program.lines({"attach", "--interface", "nothing-like-it"}) == ":\n");
}
