// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "app/command/json_file.hpp"
#include "support/temporary_directory.hpp"

namespace fs = std::filesystem;
using longhaul::app::Json;
using longhaul::app::write_atomically;
using longhaul::test::TemporaryDirectory;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a file is replaced as a whole, and nothing is left beside it") {
  const TemporaryDirectory directory;
  const fs::path path = directory.path / "stats.json";
  for (const int number : {1, 2}) {
    write_atomically(path.string(), Json{{"number", number}});
    CHECK(Json::parse(text_of(path))["number"] == number);
  }
  CHECK(std::distance(fs::directory_iterator(directory.path), {}) == 1);
}

TEST_CASE("a pipe is written to, also through a link, and stays") {
  const TemporaryDirectory directory;
  const fs::path pipe = directory.path / "pipe";
  const fs::path link = directory.path / "link";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink(pipe, link);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  for (const fs::path& path : {pipe, link}) {
    write_atomically(path.string(), Json{{"number", 3}});
    char text[100] = {};
    REQUIRE(read(reader, text, sizeof(text) - 1) > 0);
    CHECK(Json::parse(text)["number"] == 3);
  }
  close(reader);
  CHECK(fs::is_fifo(fs::symlink_status(pipe)));
  CHECK(fs::is_symlink(link));
  CHECK(std::distance(fs::directory_iterator(directory.path), {}) == 2);
}

TEST_CASE("what cannot be written is said") {
  const TemporaryDirectory directory;
  CHECK_THROWS_WITH(write_atomically((directory.path / "a" / "b").string(), Json{}),
                    Catch::Contains("cannot be written: No such file or directory"));
}
