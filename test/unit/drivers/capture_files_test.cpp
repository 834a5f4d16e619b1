// SPDX-License-Identifier: BSD-3-Clause
// Captures as files: both formats, unusable files, and what is written.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "drivers/capture_reader.hpp"
#include "drivers/capture_writer.hpp"

using namespace longhaul;
using namespace longhaul::drivers;

namespace {

struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / ("longhaul-test-" + std::to_string(getpid()))).string();
  ~TemporaryFile() { std::filesystem::remove(path); }
  void put(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
};

std::string le32(std::uint32_t v) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(v >> (8 * i));
  return out;
}

std::string pcap_header(std::uint32_t magic, std::uint32_t link_type) {
  return le32(magic) + std::string("\2\0\4\0", 4) + le32(0) + le32(0) + le32(65535) + le32(link_type);
}

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kEthernet = 1;

std::string pcap_frame(std::uint32_t second, std::uint32_t fraction, const std::string& bytes, std::uint32_t original) {
  return le32(second) + le32(fraction) + le32(static_cast<std::uint32_t>(bytes.size())) + le32(original) + bytes;
}

std::string pcapng_block(std::uint32_t type, const std::string& body) {
  const auto total = static_cast<std::uint32_t>(body.size() + 12);
  return le32(type) + le32(total) + body + le32(total);
}

}  // namespace

TEST_CASE("pcap: microseconds and nanoseconds both come as nanoseconds") {
  TemporaryFile file;
  CapturedFrame frame;
  for (const auto& [magic, time] : {std::pair{kMicroseconds, 3'000'005'000ull}, {kNanoseconds, 3'000'000'005ull}}) {
    file.put(pcap_header(magic, kEthernet) + pcap_frame(3, 5, std::string(64, 'x'), 64) +
             pcap_frame(4, 0, std::string(60, 'y'), 1500));
    CaptureReader reader(file.path);
    REQUIRE(reader.next(frame));
    CHECK(frame.time == time);
    CHECK(frame.bytes.size() == 64);
    CHECK_FALSE(frame.cut_short());
    REQUIRE(reader.next(frame));
    CHECK(frame.cut_short());
    CHECK(frame.original_size == 1500);
    CHECK_FALSE(reader.next(frame));
  }
}

TEST_CASE("pcap: seconds have no sign, and a fraction is less than a second") {
  TemporaryFile file;
  CapturedFrame frame;
  file.put(pcap_header(kMicroseconds, kEthernet) + pcap_frame(0xffffffff, 999'999, "frame", 5));
  CaptureReader late(file.path);
  REQUIRE(late.next(frame));
  CHECK(frame.time == 0xffffffffull * 1'000'000'000 + 999'999'000);
  file.put(pcap_header(kMicroseconds, kEthernet) + pcap_frame(1, 1'000'000, "frame", 5));
  CaptureReader broken(file.path);
  CHECK_THROWS_WITH(broken.next(frame), Catch::Contains(file.path + ": frame 1: impossible time"));
}

TEST_CASE("a time after the end of pcap is refused, not wrapped") {
  TemporaryFile file;
  CaptureWriter writer(file.path);
  const std::vector<std::uint8_t> bytes(64);
  writer.write(bytes, seconds(0xffffffff));
  CHECK_THROWS_WITH(writer.write(bytes, seconds(1ull << 32)), Catch::Contains(file.path + ": a pcap file cannot hold"));
}

TEST_CASE("pcapng with nanoseconds") {
  const std::string section =
      pcapng_block(0x0a0d0d0a, le32(0x1a2b3c4d) + std::string("\1\0\0\0", 4) + std::string(8, '\xff'));
  // Option 9, if_tsresol: 10^-9.
  const std::string interface =
      pcapng_block(1, std::string("\1\0\0\0", 4) + le32(0) + std::string("\x09\0\1\0\x09\0\0\0", 8) + le32(0));
  const std::uint64_t time = 1'700'000'000'123'456'789;
  const std::string packet =
      pcapng_block(6, le32(0) + le32(static_cast<std::uint32_t>(time >> 32)) + le32(static_cast<std::uint32_t>(time)) +
                          le32(64) + le32(64) + std::string(64, 'z'));
  TemporaryFile file;
  file.put(section + interface + packet);
  CaptureReader reader(file.path);
  CapturedFrame frame;
  REQUIRE(reader.next(frame));
  CHECK(frame.time == time);
  CHECK_FALSE(reader.next(frame));
}

TEST_CASE("captures that cannot be used say why") {
  TemporaryFile file;
  CHECK_THROWS_WITH(CaptureReader("/nonexistent.pcap"), Catch::Contains("/nonexistent.pcap: No such file"));
  file.put("this is no capture at all, but long enough to look like one");
  CHECK_THROWS_WITH(CaptureReader(file.path), Catch::StartsWith(file.path + ": "));
  file.put(pcap_header(kMicroseconds, 113));
  CHECK_THROWS_WITH(CaptureReader(file.path), Catch::Contains("expected link type Ethernet, got LINUX_SLL"));
  file.put(pcap_header(kMicroseconds, kEthernet) + pcap_frame(1, 0, std::string(64, 'x'), 64).substr(0, 50));
  CaptureReader reader(file.path);
  CapturedFrame frame;
  CHECK_THROWS_WITH(reader.next(frame), Catch::Contains("after frame 0: truncated"));
}

TEST_CASE("what is written is read again, real captures included") {
  TemporaryFile file;
  std::vector<std::pair<Time, std::vector<std::uint8_t>>> frames;
  {
    CaptureReader reader(std::string(TEST_ROOT) + "/pcaps/rping_v6.pcap");
    CaptureWriter writer(file.path);
    CapturedFrame frame;
    while (reader.next(frame)) {
      frames.emplace_back(frame.time + 7, std::vector<std::uint8_t>(frame.bytes.begin(), frame.bytes.end()));
      writer.write(frame.bytes, frame.time + 7);
    }
    writer.flush();
  }
  REQUIRE(frames.size() > 10);
  CaptureReader reader(file.path);
  CapturedFrame frame;
  for (const auto& [time, bytes] : frames) {
    REQUIRE(reader.next(frame));
    CHECK(frame.time == time);
    CHECK(std::vector<std::uint8_t>(frame.bytes.begin(), frame.bytes.end()) == bytes);
  }
  CHECK_FALSE(reader.next(frame));
  CHECK_THROWS_WITH(CaptureWriter("/nonexistent/x.pcap"), Catch::Contains("/nonexistent/x.pcap"));
  CaptureWriter full("/dev/full");
  full.write(frames[0].second, 0);
  CHECK_THROWS_WITH(full.flush(), Catch::Contains("/dev/full: writing failed"));
}
