// SPDX-License-Identifier: BSD-3-Clause
// Ports in memory, what they can carry, what starts them, and their clock.
#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include "drivers/af_packet.hpp"
#include "drivers/clock.hpp"
#include "drivers/eal.hpp"
#include "drivers/ethdev_port.hpp"
#include "drivers/flow_control.hpp"
#include "drivers/interface.hpp"
#include "drivers/memory_port.hpp"
#include "drivers/mtu.hpp"
#include "support/mbufs.hpp"

using namespace longhaul;
using namespace longhaul::drivers;

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
  CHECK(pool.used() == 0);  // frames that were still in the wire went with it
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

TEST_CASE("a port without flow control is taken as it is, unless a mode was asked for") {
  test::MbufPool pool;
  EthdevSpec spec{"host", "", "net_null_flow"};
  spec.flow_control = FlowControl::off;
  {
    EthdevPort port(spec);
    CHECK_THROWS_WITH(port.start(1500, pool.get()), Catch::StartsWith("host port net_null_flow: cannot set "
                                                                      "`flow_control` as configured"));
  }
  spec.flow_control.reset();
  EthdevPort port(spec);
  CHECK_NOTHROW(port.start(1500, pool.get()));
}

// net_tap takes the mode "none" and refuses all others: what its driver was told decides.
TEST_CASE("the mode of flow control reaches the driver") {
  if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0) {
    WARN("skipped: needs root and /dev/net/tun");
    return;
  }
  REQUIRE(rte_eal_hotplug_add("vdev", "net_tap_flow", "iface=lhflow0") == 0);
  std::uint16_t port = 0;
  REQUIRE(rte_eth_dev_get_port_by_name("net_tap_flow", &port) == 0);
  CHECK(set_flow_control(port, FlowControl::off) == 0);
  for (const FlowControl mode : {FlowControl::rx, FlowControl::tx, FlowControl::full})
    CHECK(set_flow_control(port, mode) == -ENOTSUP);
  CHECK(rte_eal_hotplug_remove("vdev", "net_tap_flow") == 0);
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

  options.pci = {"0000:01:00.0,rx_low_latency=1", "0000:01:00.1"};
  const auto two = Eal::arguments(options);
  CHECK(std::vector<std::string>(two.begin() + 4, two.begin() + 6) ==
        std::vector<std::string>{"--allow=0000:01:00.0,rx_low_latency=1", "--allow=0000:01:00.1"});

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
