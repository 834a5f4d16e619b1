// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "app/command/logging.hpp"

using longhaul::app::is_journal;

TEST_CASE("the journal is known by device and inode of the stream, and nothing else is taken for it") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  struct stat file {};
  REQUIRE(fstat(ends[1], &file) == 0);
  const std::string device = std::to_string(file.st_dev);
  const std::string inode = std::to_string(file.st_ino);
  CHECK(is_journal((device + ":" + inode).c_str(), ends[1]));
  CHECK_FALSE(is_journal(nullptr, ends[1]));
  CHECK_FALSE(is_journal((device + ":" + std::to_string(file.st_ino + 1)).c_str(), ends[1]));
  CHECK_FALSE(is_journal((std::to_string(file.st_dev + 1) + ":" + inode).c_str(), ends[1]));
  for (const std::string& broken :
       {std::string(), device, device + ":", ":" + inode, device + ":" + inode + "x", device + "/" + inode})
    CHECK_FALSE(is_journal(broken.c_str(), ends[1]));
  close(ends[0]);
  close(ends[1]);
  CHECK_FALSE(is_journal((device + ":" + inode).c_str(), ends[1]));  // a closed descriptor
}
