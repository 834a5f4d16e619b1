// SPDX-License-Identifier: BSD-3-Clause
// Dumps of NICs: formats, figures, the table of planted faults (test/plan/nic), and hostile text. test/plan/nic/run
// judges the program's output from outside.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plan/nic/examine.hpp"
#include "plan/nic/text.hpp"

using namespace longhaul;
using namespace longhaul::plan::nic;

namespace {

const std::string kRoot = TEST_ROOT "/plan/nic/";

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  INFO(path);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

const nlohmann::json& table() {
  static const nlohmann::json kTable = nlohmann::json::parse(contents(kRoot + "planted.json"));
  return kTable;
}

Haul haul_of_380_km() {
  Haul haul;
  haul.rate_bps = 100'000'000'000;
  haul.rtt_ns = 3'810'000;
  haul.qps = 4;
  return haul;
}

/// The options that the table's sets use.
Haul haul_with(const nlohmann::json& options, Haul haul) {
  for (std::size_t i = 0; i + 1 < options.size(); i += 2) {
    const auto option = options[i].get<std::string>();
    const auto value = options[i + 1].get<std::string>();
    if (option == "--qps") haul.qps = static_cast<std::uint32_t>(std::stoul(value));
    if (option == "--depth") haul.asked_depth = static_cast<std::uint32_t>(std::stoul(value));
    if (option == "--operation") haul.operation = value == "read" ? Operation::read : Operation::write;
    if (option == "--message") haul.message_bytes = std::stoull(value) << 10;
    if (option == "--rate") haul.rate_bps = std::stoull(value) * 1'000'000'000;
    if (option == "--distance") haul.rtt_ns = std::stoull(value) * 10'000;
  }
  return haul;
}

std::vector<std::pair<std::string, std::string>> wrong(const Diagnosis& diagnosis) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity == Severity::fine) continue;
    const std::pair<std::string, std::string> one(finding.id, name_of(finding.severity));
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  }
  return out;
}

std::string value(const Dumps& dumps, Kind kind, std::string_view subject, std::string_view name) {
  const Fact* fact = dumps.of(kind, subject, name);
  return fact == nullptr ? "(none)" : fact->value;
}

Dumps read(std::string_view text) {
  Dumps dumps;
  dumps.read("dump", text);
  return dumps;
}

}  // namespace

TEST_CASE("the published depth formula") {
  Haul haul;
  haul.rate_bps = 100'000'000'000;
  CHECK(haul.wire_bytes() == 4178);
  constexpr std::pair<std::uint64_t, std::uint64_t> kDepths[] = {{10, 299},    {20, 598},     {100, 2991},  {200, 5983},
                                                                 {380, 11369}, {1000, 29918}, {1534, 45895}};
  for (const auto& [km, depth] : kDepths) {
    haul.rtt_ns = km * 10'000;
    CHECK(haul.messages_needed() == depth);
  }
  haul.rtt_ns = 1'000'000;
  haul.message_bytes = 512;
  haul.path_mtu = 512;
  CHECK(haul.messages_needed() == 21043);
}

TEST_CASE("the published 380 km trial's figures") {
  Haul haul = haul_of_380_km();
  CHECK(show_ceiling(haul, 128) == "4 QPs x 128 x 4 KiB / 3.81 ms = 4.40 Gbit/s (calculated)");
  haul.message_bytes = 65536;
  CHECK(show_ceiling(haul, 128) == "4 QPs x 128 x 64 KiB / 3.81 ms = 70.46 Gbit/s (calculated)");
  haul.message_bytes = 131072;
  CHECK(haul.payload_bps(128) == haul.payload_cap_bps());
  haul.operation = Operation::read;
  haul.qps = 16;
  haul.message_bytes = 4096;
  CHECK(show_ceiling(haul, 16) == "16 QPs x 16 x 4 KiB / 3.81 ms = 2.20 Gbit/s (calculated)");
  CHECK(haul.depth_needed() == 713);
  CHECK_FALSE(haul.enough(712));
  CHECK(haul.enough(713));
}

TEST_CASE("figures at the ends of what an option takes") {
  Haul haul;
  haul.rate_bps = UINT64_MAX;
  haul.rtt_ns = 60'000'000'000;
  haul.message_bytes = 1;
  CHECK(haul.messages_needed() == 1666874464491826953ull);
  haul.rate_bps = 1;
  haul.rtt_ns = 1;
  haul.message_bytes = 1ull << 31;
  CHECK(haul.messages_needed() == 0);
  CHECK(haul.depth_needed() == 1);
  CHECK(size_text(1ull << 31) == "2 GiB");
  CHECK(size_text(513) == "513 B");
  CHECK(bytes_text(47'625'000) == "45.4 MiB");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.00 KiB");
  CHECK(bytes_text(1048575) == "1.00 MiB");  // not 1024 KiB
  CHECK(bytes_text(10238) == "10.0 KiB");    // not 10.00
  CHECK(bytes_text(4096.0 * 1024 * 1024) == "4.00 GiB");
  CHECK(show_rate(42'000'000) == "0.042 Gbit/s");
}

TEST_CASE("numbers in values") {
  CHECK(setting_number("True(1)") == 1);
  CHECK(setting_number("ETH(2)") == 2);
  CHECK(setting_number("14") == 14);
  CHECK(setting_number("0x00000001") == 1);
  CHECK(setting_number("4096 (5)") == 4096);
  CHECK(setting_number("_256KB(1)") == 1);
  for (const char* bad :
       {"", "Array[0..7]", "n/a", "(", ")", "()", "X()", "1.5", "-1", "99999999999999999999", "4096(", "0x"}) {
    INFO(bad);
    CHECK_FALSE(setting_number(bad).has_value());
  }
  CHECK(leading_number("25.0 Gbps (32)") == 25.0);
  CHECK(leading_number("4X (2)") == 4.0);
  CHECK_FALSE(leading_number("invalid speed (0)").has_value());
  CHECK_FALSE(leading_number(".").has_value());
}

TEST_CASE("mlxconfig: one column, three columns, several devices") {
  const Dumps one = read(contents(kRoot + "connectx5/mlxconfig.txt"));
  CHECK(value(one, Kind::mlxconfig, "/dev/mst/mt4119_pciconf0", "LOG_MAX_OUTSTANDING_WQE") == "14");
  CHECK(value(one, Kind::mlxconfig, "/dev/mst/mt4119_pciconf0", "HOST_CHAINING_DESCRIPTORS") == "Array[0..7]");
  CHECK(one.of(Kind::mlxconfig, "/dev/mst/mt4119_pciconf0", "LOG_MAX_OUTSTANDING_WQE")->next.empty());

  const Dumps three = read(
      "Device #1:\n----------\n\nDevice type:    ConnectX7\nDevice:         0000:03:00.0\n\n"
      "Configurations:          Default         Current         Next Boot\n"
      "*       NUM_OF_VFS       8               5               7\n"
      "        LINK_TYPE_P1     IB(1)           ETH(2)          ETH(2)\n\n"
      "Device #2:\n----------\n\nDevice type:    ConnectX7\nDevice:         0000:23:00.0\n\n"
      "Configurations:          Default         Current         Next Boot\n"
      "        NUM_OF_VFS       8               8               8\n"
      "The '*' shows parameters with next value different from default/current value.\n");
  CHECK(value(three, Kind::mlxconfig, "0000:03:00.0", "NUM_OF_VFS") == "5");
  CHECK(three.of(Kind::mlxconfig, "0000:03:00.0", "NUM_OF_VFS")->next == "7");
  CHECK(three.of(Kind::mlxconfig, "0000:03:00.0", "NUM_OF_VFS")->place.line == 8);
  CHECK(value(three, Kind::mlxconfig, "0000:23:00.0", "NUM_OF_VFS") == "8");
  CHECK(three.list().size() == 2);
}

TEST_CASE("ibv_devinfo: devices and their ports") {
  const Dumps dumps = read(contents(kRoot + "connectx5/ibv_devinfo.txt"));
  CHECK(value(dumps, Kind::devinfo, "mlx5_0", "max_qp_init_rd_atom") == "16");
  CHECK(value(dumps, Kind::devinfo, "mlx5_0/1", "state") == "PORT_ACTIVE (4)");
  CHECK(value(dumps, Kind::devinfo, "mlx5_1/1", "state") == "PORT_DOWN (1)");
  CHECK(value(dumps, Kind::devinfo, "mlx5_1/1", "active_mtu") == "1024 (3)");
}

TEST_CASE("rdma statistic: lines, pairs, broken lines, JSON and sysfs say the same") {
  const char* texts[] = {"link mlx5_0/1 rx_write_requests 8 out_of_buffer 3 np_cnp_sent 0 \n",
                         "link mlx5_0/1\n    rx_write_requests 8\n    out_of_buffer 3\n    np_cnp_sent 0\n",
                         "link mlx5_0/1 rx_write_requests 8 out_of_buffer\n3 np_cnp_sent\n0\n",
                         "[{\"ifindex\":0,\"ifname\":\"mlx5_0\",\"port\":1,\"rx_write_requests\":8,\"out_of_buffer\":3,"
                         "\"np_cnp_sent\":0}]\n",
                         "[ {\n        \"ifindex\": 0,\n        \"ifname\": \"mlx5_0\",\n        \"port\": 1,\n        "
                         "\"rx_write_requests\": 8,\n"
                         "        \"out_of_buffer\": 3,\n        \"np_cnp_sent\": 0\n    } ]\n",
                         "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rx_write_requests:8\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer:3\n"
                         "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:0\n"};
  const std::size_t lines[] = {1, 3, 2, 1, 6, 2};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    INFO(texts[i]);
    const Dumps dumps = read(texts[i]);
    CHECK(dumps.facts().size() == 3);
    REQUIRE(value(dumps, Kind::rdma_statistic, "mlx5_0/1", "out_of_buffer") == "3");
    CHECK(dumps.of(Kind::rdma_statistic, "mlx5_0/1", "out_of_buffer")->place.line == lines[i]);
  }
}

TEST_CASE("counters of other drivers go by their aliases") {
  const Dumps dumps = read(
      "link rxe0/1 sent_pkts 2099 rcvd_pkts 2101 duplicate_request 0 out_of_seq_request 4 rcvd_rnr_err 0 rcvd_seq_err "
      "0 "
      "retry_exceeded_err 1 \n");
  CHECK(wrong(examine(dumps, haul_of_380_km())) ==
        std::vector<std::pair<std::string, std::string>>{{"out-of-sequence", "fault"},
                                                         {"req-transport-retries-exceeded", "fault"}});
}

TEST_CASE("what stands between dumps tells the device") {
  const Dumps dumps = read(
      "root@a:~# mlxreg -d 5e:00.0 --reg_name ROCE_ACCL --get\nSending access register...\n\nField Name   | "
      "Data\n====\n"
      "roce_adp_retrans_en    | 0x00000001\n====\nroot@a:~# mlnx_qos -i eth2\nPFC configuration:\n\tpriority    0   1  "
      " 2   3\n"
      "\tenabled     0   0   1   0\nroot@a:~# ethtool -S eth3\nNIC statistics:\n     rx_discards_phy: 5\n");
  CHECK(value(dumps, Kind::roce_accl, "5e:00.0", "roce_adp_retrans_en") == "0x00000001");
  CHECK(value(dumps, Kind::pfc, "eth2", "enabled") == "0010");
  CHECK(value(dumps, Kind::nic_statistics, "eth3", "rx_discards_phy") == "5");
}

TEST_CASE("only the interface that carries RDMA needs the MTU") {
  const std::string links =
      "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n"
      "2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP\n"
      "3: eth2@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP\n";
  CHECK(wrong(examine(read(links), haul_of_380_km())).empty());
  for (const char* other : {"link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2 \n",
                            "Pause parameters for eth2:\nRX:\t\ton\n"}) {
    const Diagnosis diagnosis = examine(read(links + other), haul_of_380_km());
    CHECK(wrong(diagnosis) == std::vector<std::pair<std::string, std::string>>{{"ethernet-mtu", "fault"}});
    CHECK(diagnosis.findings.front().place.line == 3);
  }
}

TEST_CASE("what is missing is said") {
  const Diagnosis diagnosis = examine(read("Pause parameters for eth2:\nRX:\t\ton\nTX:\t\ton\n"), haul_of_380_km());
  CHECK(diagnosis.limit.depth == 0);
  CHECK(diagnosis.missing.size() == 5);
  CHECK(diagnosis.missing.front().command == "mlxconfig -d DEVICE -e query");
  const Diagnosis cut =
      examine(read("Configurations:   Next Boot\n   ROCE_CONTROL   ROCE_ENABLE(2)\n"), haul_of_380_km());
  CHECK(cut.missing.back().tells.starts_with("LOG_MAX_OUTSTANDING_WQE"));
}

TEST_CASE("clean dumps have no fault, planted ones exactly theirs") {
  const auto survey_of = [](const std::string& name, const nlohmann::json& edits) {
    Dumps dumps;
    for (const auto& file : table()["clean"][name]["files"]) {
      std::string text = contents(kRoot + name + "/" + file.get<std::string>());
      for (const auto& edit : edits) {
        if (edit["file"] != file) continue;
        const auto from = edit["from"].get<std::string>();
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, from.size(), edit["to"].get<std::string>());
      }
      dumps.read(file.get<std::string>(), text);
    }
    return dumps;
  };
  using Findings = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [name, set] : table()["clean"].items()) {
    INFO(name);
    CHECK(wrong(examine(survey_of(name, nlohmann::json::array()), haul_with(set["options"], {}))) == Findings{});
  }
  for (const auto& plant : table()["planted"]) {
    INFO(plant.dump());
    const auto name = plant["set"].get<std::string>();
    Haul haul = haul_with(table()["clean"][name]["options"], {});
    if (plant.contains("options")) haul = haul_with(plant["options"], haul);
    Findings expected;
    if (!plant["finding"].is_null()) expected.emplace_back(plant["finding"]["id"], plant["finding"]["severity"]);
    CHECK(wrong(examine(survey_of(name, plant.value("edits", nlohmann::json::array())), haul)) == expected);
  }
}

TEST_CASE("what is no dump is refused with what was expected") {
  for (const char* text : {"", "\n\n", "hello\n", "Device #1:\n", "NIC statistics:\n", "[{\"ifname\":\"mlx5_0\"",
                           "link mlx5_0/1\n", "hca_id:\n"}) {
    Dumps dumps;
    INFO(text);
    CHECK_THROWS_WITH(dumps.read("file.txt", text),
                      Catch::StartsWith("file.txt: contains no dump of a NIC") && Catch::Contains("ibv_devinfo -v"));
  }
  Dumps dumps;
  CHECK_THROWS_WITH(dumps.read("file", std::string_view("hca_id:\0", 8)), "file: this is binary data, not text");
  CHECK_THROWS_WITH(dumps.read("file", std::string(kLargestFile + 1, 'a')), Catch::Contains("too large"));
}

TEST_CASE("hostile dumps end in an error or a report") {
  std::vector<std::string> seeds;
  for (const auto& [name, set] : table()["clean"].items())
    for (const auto& file : set["files"]) seeds.push_back(contents(kRoot + name + "/" + file.get<std::string>()));
  seeds.push_back("[{\"ifname\":\"mlx5_0\"," + std::string(20'000, '['));
  seeds.push_back("[{\"ifname\":\"mlx5_0\",\"a\":" + std::string(20'000, '[') + std::string(20'000, ']') + "}]\n");
  seeds.push_back("hca_id:\tmlx5_0\n\tmax_qp_wr:\t" + std::string(100'000, '9') + "\n");
  seeds.push_back("LOG_MAX_OUTSTANDING_WQE 18446744073709551615\nLOG_TX_PSN_WINDOW 18446744073709551615\n");
  seeds.push_back("5: x: <> mtu 18446744073709551615\nSettings for x:\n\tSpeed: 99999999999Mb/s\n");
  seeds.push_back("3b:00.0 Ethernet controller: x\n\t\tLnkSta:\tSpeed 999999999999GT/s, Width x999999999\n");
  std::mt19937 random(6);
  std::size_t reports = 0;
  for (const std::string& seed : seeds) {
    for (int round = 0; round < 60; ++round) {
      std::string text = seed;
      for (int change = round; change > 0 && !text.empty(); change -= 7) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
          case 0:
            text[at] = static_cast<char>(1 + random() % 255);
            break;
          case 1:
            text.erase(at, random() % 40);
            break;
          default:
            text.insert(at, seed.substr(random() % seed.size(), random() % 60));
            break;
        }
      }
      Dumps dumps;
      try {
        dumps.read("dump", text);
      } catch (const DumpError&) {
        continue;
      }
      for (const Operation operation : {Operation::write, Operation::read}) {
        Haul haul = haul_of_380_km();
        haul.operation = operation;
        const Diagnosis diagnosis = examine(dumps, haul);
        const std::string report = to_text(diagnosis);
        REQUIRE(std::all_of(report.begin(), report.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
        REQUIRE(nlohmann::json::parse(to_json(diagnosis))["findings"].size() == diagnosis.findings.size());
        ++reports;
      }
    }
  }
  CHECK(reports > 1000);
}
