// SPDX-License-Identifier: BSD-3-Clause
// Captures, ports in memory, what ports can carry.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "drivers/af_packet.hpp"
#include "drivers/capture_reader.hpp"
#include "drivers/capture_writer.hpp"
#include "drivers/clock.hpp"
#include "drivers/eal.hpp"
#include "drivers/interface.hpp"
#include "drivers/memory_port.hpp"
#include "drivers/mtu.hpp"
#include "mbufs.hpp"

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
  CHECK_THROWS_WITH(CaptureReader(file.path), Catch::Contains("link type is LINUX_SLL, expected Ethernet"));
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

TEST_CASE("a wire in memory carries frames both ways and refuses when full") {
  test::MbufPool pool;
  {
    auto [near, far] = MemoryPort::make_wire("wire", 3);
    std::array<rte_mbuf*, 5> frames{};
    for (std::uint8_t i = 0; i < 5; ++i) frames[i] = pool.make(std::array<std::uint8_t, 2>{i, 0});
    CHECK(near->transmit(frames.data(), 5) == 3);
    CHECK(far->transmit(frames.data() + 3, 1) == 1);
    std::array<rte_mbuf*, 8> got{};
    REQUIRE(far->receive(got.data(), 8) == 3);
    for (std::uint8_t i = 0; i < 3; ++i) CHECK(got[i] == frames[i]);
    CHECK(far->receive(got.data() + 3, 1) == 0);
    rte_pktmbuf_free_bulk(got.data(), 3);
    rte_pktmbuf_free(frames[4]);
    CHECK(near->describe() == "wire near end");
  }
  CHECK(pool.used() == 0);  // what still lay in the wire went with it
}

TEST_CASE("both ports must carry the MTU") {
  const MtuCapacity veth{"host (veth0)", 9000, true, "ip link set dev veth0 mtu N"};
  const MtuCapacity small{"wan (veth1)", 1500, true, "ip link set dev veth1 mtu N"};
  const MtuCapacity nic{"wan (0000:01:00.0)", 9978, false, "use a NIC that can"};
  CHECK(agree_on_mtu(veth, nic, std::nullopt) == 9000);
  CHECK(agree_on_mtu(nic, nic, std::nullopt) == 9000);
  CHECK(agree_on_mtu(nic, small, std::nullopt) == 1500);
  CHECK(agree_on_mtu(veth, small, 1500) == 1500);
  CHECK_THROWS_WITH(agree_on_mtu(veth, small, std::nullopt),
                    "the ports carry different MTUs: host (veth0) carries 9000, wan (veth1) carries 1500; raise wan "
                    "(veth1): ip link set dev veth1 "
                    "mtu N; or set `mtu: 1500`");
  CHECK_THROWS_WITH(agree_on_mtu(veth, small, 4200), Catch::Contains("cannot both carry `mtu: 4200`") &&
                                                         Catch::Contains("9000") && Catch::Contains("1500"));
}

TEST_CASE("what net_af_packet can carry is read from its arguments") {
  CHECK_FALSE(parse_af_packet("net_null0").has_value());
  const auto port = parse_af_packet("net_af_packet0,iface=lo,framesz=16384,blocksz=1048576");
  REQUIRE(port.has_value());
  CHECK(port->interface == "lo");
  CHECK(port->frame_size == 16384);
  CHECK(port->largest_received() > 9000 + kFrameOverhead);
  CHECK(port->largest_received() < port->largest_sent());
  CHECK(parse_af_packet("net_af_packet0,iface=x")->frame_size == 2048);
  CHECK(parse_af_packet("net_af_packet0,iface=x")->queue_pairs == 1);
  CHECK(parse_af_packet("net_af_packet0,iface=x,qpairs=3")->queue_pairs == 3);
  CHECK_THROWS_WITH(parse_af_packet("net_af_packet0,iface=x,qpairs="), Catch::Contains("qpairs="));
  CHECK_THROWS_WITH(parse_af_packet("net_af_packet0"), Catch::Contains("needs iface="));
  CHECK_THROWS_WITH(parse_af_packet("net_af_packet0,iface=x,framesz=big"), Catch::Contains("framesz="));
  CHECK(interface_mtu("lo") > 1000);
  CHECK_THROWS_WITH(interface_mtu("nosuchif0"), "network interface \"nosuchif0\": No such device");
}

TEST_CASE("the EAL is told what the options mean") {
  EalOptions options;
  options.core = 3;
  options.pci = {"0000:01:00.0"};
  const auto huge = Eal::arguments(options);
  CHECK(huge == std::vector<std::string>{"longhaul", "--lcores=0@3", "--in-memory", "--no-telemetry",
                                         "--allow=0000:01:00.0", "--force-max-simd-bitwidth=512", "--log-level=error"});

  options.telemetry_as = "longhaul_near";
  CHECK(Eal::arguments(options) == std::vector<std::string>{"longhaul", "--lcores=0@3", "--in-memory",
                                                            "--file-prefix=longhaul_near", "--allow=0000:01:00.0",
                                                            "--force-max-simd-bitwidth=512", "--log-level=error"});

  EalOptions shared;
  shared.core = 1;
  shared.workers = {0, 0};
  shared.memory_bytes = 64ull << 20;
  shared.shared_as = "bench";
  shared.huge_dir = "/mnt/huge";
  CHECK(Eal::arguments(shared) == std::vector<std::string>{"longhaul", "--lcores=0@1,1@0,2@0", "--file-prefix=bench",
                                                           "--huge-dir=/mnt/huge", "--no-telemetry", "-m", "64",
                                                           "--no-pci", "--force-max-simd-bitwidth=512",
                                                           "--log-level=error"});
}

TEST_CASE("the clock runs forward, in nanoseconds") {
  const Clock clock;
  const Time before = clock.now();
  rte_delay_us_block(2000);
  const Duration passed = clock.now() - before;
  CHECK(passed >= microseconds(1990));
  CHECK(passed < seconds(1));
}
