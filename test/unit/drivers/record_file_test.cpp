// SPDX-License-Identifier: BSD-3-Clause
// The file of the restart record: it is made, found again, or refused with words that help.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "drivers/record_file.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
using drivers::RecordFile;
using State = custody::RecordSlot::State;
namespace fs = std::filesystem;

namespace {

struct Directory : test::TemporaryDirectory {
  std::string file() const { return *this / "run/box.record"; }
};

void owe(custody::RecordSlot& slot, std::uint32_t h) {
  flow::ConnectionInfo info;
  info.end(Side::host) = {wire::IpAddress::parse("10.0.0.1"), h, 100};
  info.end(Side::wan) = {wire::IpAddress::parse("10.0.0.2"), 0x22, 500};
  slot.open(custody::RecordedConnection::of(info, std::nullopt));
  slot.promise(h, 7, 1234);
}

void put(const std::string& path, std::streamoff at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << bytes;
}

constexpr std::size_t bytes_of(std::size_t slots) { return 128 + slots * 128; }

}  // namespace

TEST_CASE("a record is made, with its directory, for its owner only, and found again") {
  const Directory directory;
  {
    const RecordFile file(directory.file(), 4);
    REQUIRE(file.slots().size() == 4);
    for (const auto& slot : file.slots()) CHECK(slot.state() == State::empty);
    owe(file.slots()[2], 103);
  }
  CHECK(fs::file_size(directory.file()) == bytes_of(4));
  CHECK((fs::status(directory.file()).permissions() & (fs::perms::group_all | fs::perms::others_all)) ==
        fs::perms::none);
  const RecordFile file(directory.file(), 4);
  CHECK(file.slots()[2].state() == State::owing);
  CHECK(file.slots()[2].promised().h == 103);
  CHECK(file.slots()[2].owed_bytes() == 1234);
  CHECK(file.slots()[1].state() == State::empty);
}

TEST_CASE("what a killed process wrote is there, and its lock is not") {
  const Directory directory;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const RecordFile file(directory.file(), 4);
    owe(file.slots()[0], 77);
    kill(getpid(), SIGKILL);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  const RecordFile file(directory.file(), 4);
  CHECK(file.slots()[0].state() == State::owing);
  CHECK(file.slots()[0].promised().h == 77);
}

TEST_CASE("a record of another capacity is grown or cut, and keeps what it says") {
  const Directory directory;
  {
    const RecordFile file(directory.file(), 4);
    owe(file.slots()[3], 103);
  }
  {
    const RecordFile file(directory.file(), 100);
    REQUIRE(file.slots().size() == 100);
    CHECK(file.slots()[3].state() == State::owing);
    for (std::size_t i = 4; i < 100; ++i) CHECK(file.slots()[i].state() == State::empty);
  }
  CHECK(fs::file_size(directory.file()) == bytes_of(100));
  CHECK_THROWS_WITH(RecordFile(directory.file(), 3), Catch::Contains("connection 4 of 100 in it has lost data") &&
                                                         Catch::Contains("`connections: 100`"));
  {
    const RecordFile file(directory.file(), 4);
    CHECK(file.slots()[3].state() == State::owing);
    file.slots()[3].clear();
  }
  CHECK(fs::file_size(directory.file()) == bytes_of(4));
  const RecordFile file(directory.file(), 1);
  CHECK(fs::file_size(directory.file()) == bytes_of(1));
}

TEST_CASE("a record whose making was cut short is made again") {
  const Directory directory;
  fs::create_directory(directory.path / "run");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, bytes_of(4)}) {
    std::ofstream(directory.file(), std::ios::binary | std::ios::trunc) << std::string(bytes, '\0');
    const RecordFile file(directory.file(), 4);
    CHECK(file.slots()[0].state() == State::empty);
  }
}

TEST_CASE("what is no usable record is refused, and left as it is") {
  const Directory directory;
  const std::string path = directory.file();
  const auto refused = [&path](const std::string& why) {
    const auto before = fs::file_size(path);
    CHECK_THROWS_WITH(RecordFile(path, 4), Catch::StartsWith(path + ": ") && Catch::Contains(why));
    CHECK(fs::file_size(path) == before);
  };
  { const RecordFile file(path, 4); }
  SECTION("foreign") {
    std::ofstream(path, std::ios::trunc) << "root:x:0:0:root:/root:/bin/sh\n";
    refused("is not a restart record of longhaul");
  }
  SECTION("foreign and long") {
    std::ofstream(path, std::ios::trunc) << std::string(100000, 'x');
    refused("is not a restart record of longhaul");
  }
  SECTION("another version") {
    put(path, 8, std::string("\2\0\0\0", 4));
    refused("format 2, this one uses 1");
  }
  SECTION("slots of another size") {
    put(path, 12, std::string("\100\0\0\0", 4));
    refused("another version");
  }
  SECTION("cut short") {
    fs::resize_file(path, bytes_of(4) - 1);
    refused("is truncated: 639 bytes, but 4 connections need 640");
  }
  SECTION("a header alone") {
    fs::resize_file(path, 100);
    refused("is not a restart record of longhaul");
  }
  SECTION("in use") {
    const RecordFile other(path, 4);
    refused("is in use by another running box");
  }
}

TEST_CASE("what cannot be opened is said") {
  const Directory directory;
  CHECK_THROWS_WITH(RecordFile((directory.path / "a" / "b" / "c").string(), 4),
                    Catch::Contains("/a/b/c: cannot be opened: No such file or directory"));
  CHECK_THROWS_WITH(RecordFile(directory.path.string(), 4), Catch::Contains("cannot be opened: Is a directory"));
  CHECK_THROWS_WITH(RecordFile("/dev/null", 4), Catch::Contains("/dev/null: is not a regular file"));
  if (geteuid() != 0) {
    fs::permissions(directory.path, fs::perms::none);
    CHECK_THROWS_WITH(RecordFile(directory.file(), 4), Catch::Contains("cannot be opened: Permission denied"));
    fs::permissions(directory.path, fs::perms::owner_all);
  }
}
