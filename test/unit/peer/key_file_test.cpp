// SPDX-License-Identifier: BSD-3-Clause
// Files of keys, and what is said about those that are wrong.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "peer/key_file.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
using Catch::Matchers::Contains;

namespace {

// By coreutils: printf '...' | base64.
constexpr const char* kOnes = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
constexpr const char* kTwos = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

std::string with(const test::TemporaryDirectory& directory, const std::string& text,
                 std::filesystem::perms mode = std::filesystem::perms::owner_read) {
  const std::string path = directory / "keys";
  std::filesystem::remove(path);
  std::ofstream(path) << text;
  std::filesystem::permissions(path, mode);
  return path;
}

}  // namespace

TEST_CASE("keys are read in their order", "[peer]") {
  const test::TemporaryDirectory directory;
  const auto keys = peer::read_keys(with(directory, std::string("# the pair\n\n  ") + kTwos + " \r\n" + kOnes + "\n"));
  REQUIRE(keys.size() == 2);
  peer::Key ones;
  ones.fill(1);
  peer::Key twos;
  twos.fill(2);
  CHECK(keys[0] == peer::PreSharedKey(twos));
  CHECK(keys[1] == peer::PreSharedKey(ones));
}

TEST_CASE("a new key can be read again", "[peer]") {
  const test::TemporaryDirectory directory;
  const std::string one = peer::new_key(peer::system_random());
  CHECK(one.size() == 44);
  CHECK(one != peer::new_key(peer::system_random()));
  CHECK(peer::read_keys(with(directory, one)).size() == 1);
}

TEST_CASE("what is wrong with a file of keys is said, and the key is not", "[peer]") {
  using std::filesystem::perms;
  const test::TemporaryDirectory directory;
  const std::string line = kOnes;
  const auto said = [](const std::string& path) -> std::string {
    try {
      peer::read_keys(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(said(directory / "missing"), Contains("missing") && Contains("No such file"));
  CHECK_THAT(said(directory / "."), Contains("not a file"));
  CHECK_THAT(said(with(directory, line, perms::owner_read | perms::others_read)), Contains("chmod o="));
  CHECK_THAT(said(with(directory, "# nothing\n")), Contains("has no key"));
  CHECK_THAT(said(with(directory, line + "\n" + line + "\n")), Contains(":2:") && Contains("already"));
  CHECK_THAT(said(with(directory, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")), Contains("zeros"));
  for (const std::string& wrong : {line.substr(1), line + "A", line.substr(0, 40), std::string("key"), line + " x"}) {
    const std::string text = said(with(directory, "\n" + wrong + "\n"));
    CHECK_THAT(text, Contains(":2:") && Contains("not a key"));
    CHECK_THAT(text, !Contains(line.substr(1, 30)));
  }
  std::string five;
  for (int i = 0; i < 5; ++i) five += peer::new_key(peer::system_random()) + "\n";
  CHECK_THAT(said(with(directory, five)), Contains(":5:") && Contains("more than 4"));
}
