// SPDX-License-Identifier: BSD-3-Clause
// What the start of a box says of its NICs. The machines are planted; test/machine has `longhaul doctor` on more.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "app/process/port_checks.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
namespace fs = std::filesystem;

namespace {

constexpr const char* kHost = "0000:81:00.0";
constexpr const char* kPhysical = "0000:82:00.0";

/// A machine with one NIC.
struct Planted {
  test::TemporaryDirectory directory;
  fs::path root = directory.path;

  fs::path device(const std::string& address) { return root / "sys/bus/pci/devices" / address; }
  void nic(const std::string& address, const std::string& driver) {
    fs::create_directories(device(address));
    fs::create_directories(root / "sys/bus/pci/drivers" / driver);
    std::ofstream(device(address) / "class") << "0x020000\n";
    fs::create_directory_symlink("../../drivers/" + driver, device(address) / "driver");
  }
  void takes_roce(const std::string& address) {
    fs::create_directories(device(address) / "infiniband/rdma0/ports/1/gids");
    std::ofstream(device(address) / "infiniband/rdma0/ports/1/gids/0") << "fe80::1\n";
  }
  std::vector<std::string> warnings() {
    config::PortConfig host, wan;
    host.pci = kHost;
    host.position = "box.yaml:1:1: ports.host.pci";
    wan.vdev = "net_null0";
    return app::roce_warnings(host, wan, root.string());
  }
};

}  // namespace

TEST_CASE("a NIC that takes RoCE in itself is warned of at the start, with what to do", "[process][ports]") {
  Planted machine;
  SECTION("ConnectX") {
    machine.nic(kHost, "mlx5_core");
    CHECK(machine.warnings().empty());
    machine.takes_roce(kHost);
    const auto warnings = machine.warnings();
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::StartsWith("box.yaml:1:1: ports.host.pci: 0000:81:00.0: RoCE is on") &&
                                Catch::Contains("name enable_roce value false cmode driverinit"));
  }
  SECTION("a virtual function of an E810") {
    machine.nic(kHost, "vfio-pci");
    machine.nic(kPhysical, "ice");
    fs::create_directory_symlink(std::string("../") + kPhysical, machine.device(kHost) / "physfn");
    CHECK(machine.warnings().empty());
    machine.takes_roce(kPhysical);
    const auto warnings = machine.warnings();
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::Contains("physical function 0000:82:00.0 (irdma)") &&
                                Catch::Contains("pci/0000:82:00.0 name enable_roce value false cmode runtime"));
  }
  SECTION("a NIC that is not there is not this check's business") { CHECK(machine.warnings().empty()); }
}
