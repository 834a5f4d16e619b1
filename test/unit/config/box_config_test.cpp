// SPDX-License-Identifier: BSD-3-Clause
// A valid configuration is read. An invalid one is refused with file, line, column and words that help.
#include <catch2/catch.hpp>

#include <string>

#include "config/box_config.hpp"
#include "config/link_config.hpp"
#include "support/box_text.hpp"

using namespace longhaul;
using namespace longhaul::config;
using namespace longhaul::test;

TEST_CASE("the examples in config/ are valid") {
  const std::string root = std::string(TEST_ROOT) + "/../config/";
  const BoxConfig lab = load_box(root + "box-lab.yaml");
  CHECK_FALSE(lab.process.hugepages);
  CHECK(lab.process.sleep_when_idle);
  const BoxConfig far = load_box(root + "box-100g-3000km.yaml");
  CHECK(far.engine.max_connections == 65536);
  CHECK(far.promise.bytes == 375'000'000);
  const LinkConfig line = load_link(root + "link-1000km.yaml");
  CHECK(line.link.directions[0].delay == milliseconds(5));
  CHECK(line.link.directions[1].delay == milliseconds(5));

  // This file says that it shows the defaults.
  const BoxConfig full = load_box(root + "box-100g.yaml");
  const engine::Settings defaults;
  CHECK(full.engine.custody_box_bytes == defaults.custody_box_bytes);
  CHECK(full.engine.custody_flow_bytes == defaults.custody_flow_bytes);
  CHECK(full.engine.custody_mbufs == defaults.custody_mbufs);
  CHECK(full.engine.initial_window_bytes == defaults.initial_window_bytes);
  CHECK(full.engine.max_connections == defaults.max_connections);
  CHECK(full.engine.confirm == defaults.confirm);
  CHECK(full.engine.rto_initial == defaults.rto_initial);
  CHECK(full.engine.rto_min == defaults.rto_min);
  CHECK(full.engine.rto_max == defaults.rto_max);
  CHECK(full.engine.give_up == defaults.give_up);
  CHECK(full.engine.longest_give_up == defaults.longest_give_up);
  CHECK(full.engine.dreq_hold == defaults.dreq_hold);
  CHECK(full.engine.reorder_wait == defaults.reorder_wait);
  CHECK(full.drain == BoxConfig().drain);
  CHECK(full.stall == BoxConfig().stall);
  CHECK(full.on_stall == BoxConfig().on_stall);
  CHECK(full.link_loss == BoxConfig().link_loss);
  CHECK(full.pools.small_frames == engine::PoolPlan().small_frames);
  CHECK(full.engine.wan_rate_bps == 100'000'000'000);
  CHECK(full.engine.policies.rules.size() == 2);
}

TEST_CASE("only the ports are required") {
  const BoxConfig config = box_of("");
  CHECK(config.host.vdev == "net_null0");
  CHECK(config.wan.pci == "0000:01:00.1");
  CHECK(config.engine.wan_rate_bps == 0);
  CHECK_FALSE(config.process.mtu.has_value());
  CHECK(config.pools.frames > config.engine.custody_mbufs);
}

TEST_CASE("what lies in the rings of all workers is kept for them, and not for custody") {
  const auto reserve = [](const std::string& more) { return box_of(more).pools.frames_reserve; };
  const std::uint32_t usual = engine::PoolPlan().frames_reserve;
  CHECK(reserve("") == usual);
  CHECK(reserve("descriptors: {receive: 1024, transmit: 1024}") == usual);
  CHECK(reserve("descriptors: {receive: 4096}") == usual + 2 * 3072);
  CHECK(reserve("descriptors: {receive: 64, transmit: 64}") == usual - 2 * 2 * 960);
  CHECK(reserve("cores: [1, 2, 3]\ndescriptors: {transmit: 2048}") == 3 * (usual + 2 * 1024));
  const BoxConfig box = box_of("descriptors: {receive: 32768, transmit: 512}");
  CHECK(box.process.descriptors.receive == 32768);
  CHECK(box.process.descriptors.transmit == 512);
  CHECK(box.pools.frames == box.engine.custody_mbufs + box.pools.frames_reserve);
}

TEST_CASE("flow control is a mode of both ports, off being a word") {
  CHECK_FALSE(box_of("").process.flow_control.has_value());
  CHECK(box_of("flow_control: off").process.flow_control == 0u);
  CHECK(box_of("flow_control: full").process.flow_control == 3u);
}

TEST_CASE("policy off is a word, quoted or not") {
  const BoxConfig config = box_of(
      "policy: {default: off, rules: [{match: 10.9.0.0/24, policy: full}, {match: \"fd00::/64\", policy: \"off\"}]}");
  CHECK(config.engine.policies.fallback == flow::Policy::off);
  REQUIRE(config.engine.policies.rules.size() == 2);
  CHECK(config.engine.policies.rules[0].policy == flow::Policy::full);
  CHECK(config.engine.policies.rules[1].policy == flow::Policy::off);
}

TEST_CASE("a rule of the policy may be about vendor features, with or without a prefix") {
  const BoxConfig config = box_of(
      "policy: {rules: [{ece: any, policy: off}, {match: 10.9.0.0/24, ece: 0x15b3, policy: window}, "
      "{ece: none, policy: full}]}");
  const auto& rules = config.engine.policies.rules;
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].match.is_all());
  CHECK(rules[0].ece == flow::EceMatch::parse("any"));
  CHECK(rules[1].match == flow::Prefix::parse("10.9.0.0/24"));
  CHECK(rules[1].ece == flow::EceMatch::parse("0x15b3"));
  CHECK(rules[2].ece == flow::EceMatch::parse("none"));
}

TEST_CASE("a restart record is kept where the configuration says, else nowhere") {
  CHECK(box_of("").restart_record.empty());
  const BoxConfig config = box_of("restart_record: /run/longhaul/box.record");
  CHECK(config.restart_record == "/run/longhaul/box.record");
  CHECK(config.restart_record_position == "box.yaml:4:17: restart_record");
}

TEST_CASE("a worker that stands still may end the process, a lost link may be passed on") {
  const BoxConfig config = box_of("link_loss: forward\nwatchdog: {stall: 200ms, action: exit}");
  CHECK(config.link_loss == LinkLoss::forward);
  CHECK(config.stall == milliseconds(200));
  CHECK(config.on_stall == OnStall::exit);
}

TEST_CASE("metrics are shown where the configuration says, else nowhere") {
  CHECK(box_of("").metrics.listen.empty());
  const BoxConfig config = box_of("metrics: {listen: \"127.0.0.1:9464\"}");
  CHECK(config.metrics.listen == "127.0.0.1:9464");
  CHECK(config.metrics.host_pairs == 100);
  CHECK(config.metrics.position == "box.yaml:4:19: metrics.listen");
  CHECK(box_of("metrics: {listen: \"[::1]:9464\", host_pairs: 0}").metrics.host_pairs == 0);
  for (const std::string bad : {"9464", ":9464", "localhost:9464", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536",
                                "127.0.0.1:94x", "::1:9464", "[::1]", "[127.0.0.1]:9464", "127.0.0.1:9464,1.1.1.1:1"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH(box_of("metrics: {listen: \"" + bad + "\"}"),
                      Catch::StartsWith("box.yaml:4:19: metrics.listen: expected an address and a port"));
  }
  CHECK_THROWS_WITH(box_of("metrics: {host_pairs: 5}"), Catch::Contains("listen"));
  CHECK_THROWS_WITH(box_of("metrics: {listen: \"127.0.0.1:1\", host_pairs: 10001}"),
                    Catch::StartsWith("box.yaml:4:46: metrics.host_pairs"));
}

TEST_CASE("custody is promised by rate and round trip, or by bytes and a smallest frame; buffers follow") {
  const BoxConfig config = box_of("wan_rate: 100Gbps\ncustody: {round_trip: 30ms, least_frame: 4KiB}");
  CHECK(config.promise.bytes == 375'000'000);
  CHECK(config.engine.custody_box_bytes == 375'000'000);
  CHECK(config.engine.custody_flow_bytes == 375'000'000);  // one flow may fill the path
  CHECK(config.engine.custody_mbufs == 91'553);
  CHECK(config.pools.frames == 91'553 + config.pools.frames_reserve);
  CHECK(config.pools.small_frames == engine::PoolPlan().small_frames);

  // custody.rate wins over wan_rate. A key that is given and large enough keeps its value.
  const BoxConfig named = box_of(
      "wan_rate: 100Gbps\ncustody: {round_trip: 30ms, rate: 10Gbps, least_frame: 4KiB, mbufs: 10000, box_limit: 64MiB, "
      "flow_limit: 1MiB}");
  CHECK(named.promise.bytes == 37'500'000);
  CHECK(named.engine.custody_box_bytes == 64u << 20);
  CHECK(named.engine.custody_flow_bytes == 1u << 20);
  CHECK(named.engine.custody_mbufs == 10000);

  const BoxConfig bytes = box_of("custody: {box_limit: 64MiB, least_frame: 4KiB}");
  CHECK(bytes.promise.bytes == 64u << 20);
  CHECK(bytes.engine.custody_mbufs == 16384);
  CHECK(box_of("custody: {box_limit: 64MiB}").promise.bytes == 0);
}

TEST_CASE("with several workers each holds its whole share of what is promised") {
  const BoxConfig three = box_of("cores: [0, 1, 2]\ncustody: {round_trip: 1ms, rate: 100Gbps, least_frame: 4KiB}");
  CHECK(three.promise.bytes == 12'500'000);
  CHECK(three.engine.custody_box_bytes == 3 * 4'166'667);
  CHECK(three.engine.custody_flow_bytes == 4'166'667);
  CHECK(three.engine.custody_mbufs == 3 * 1018);  // 1017.3 packets of 4096 bytes each
  CHECK(three.pools.frames == 3 * 1018 + three.pools.frames_reserve);
  // Buffers in the caches of other workers are not available for custody.
  const BoxConfig small = box_of("cores: [0, 1, 2]\ncustody: {round_trip: 30ms, rate: 100Gbps, least_frame: 1KiB}");
  const std::uint32_t dreqs = engine::PoolPlan::dreqs_of(engine::PoolPlan().small_frames);
  CHECK(small.pools.small_frames ==
        3 * 122'071 + 3 * engine::Pools::kKeptByWorker + dreqs);  // 125,000,000 / 1024 = 122,070.3
  CHECK(box_of("custody: {round_trip: 30ms, rate: 100Gbps, least_frame: 1KiB}").pools.small_frames == 366'211 + dreqs);
  // A box_limit that three workers cannot share evenly: they hold the largest even part.
  CHECK(box_of("cores: [0, 1, 2]\ncustody: {box_limit: 64MiB, least_frame: 4KiB}").promise.bytes == (64u << 20) - 1);
  CHECK(box_of("mtu: 4096\ncustody: {box_limit: 64MiB, least_frame: 4118B}").promise.least_frame == 4118);  // two tags
}

TEST_CASE("an MTU that is known only by the ports is held against a promise too") {
  const BoxConfig config = box_of("custody: {box_limit: 64MiB, least_frame: 4KiB}");
  CHECK_NOTHROW(check_frames_arrive(config, 4082));
  CHECK_THROWS_WITH(
      check_frames_arrive(config, 1500),
      Catch::StartsWith("box.yaml:4:42: custody.least_frame: 67108864 bytes are promised in frames of 4096"));
  CHECK_NOTHROW(check_frames_arrive(box_of("custody: {box_limit: 64MiB}"), 68));
}

TEST_CASE("a box has a worker for each of its cores") {
  CHECK(box_of("").process.workers() == 1);
  const BoxConfig one = box_of("core: 3\n");
  CHECK(one.process.workers() == 1);
  CHECK(one.process.core == 3u);
  CHECK(one.spread_connections);
  const BoxConfig three = box_of("cores: [2, 4, 7]\nspread: pairs\ncustody: {box_limit: 300MiB}\n");
  CHECK(three.process.workers() == 3);
  CHECK(three.process.core == 2u);
  CHECK(three.process.more_cores == std::vector<unsigned>{4, 7});
  CHECK_FALSE(three.spread_connections);
  CHECK(three.engine.custody_flow_bytes <= 100u << 20);
  // Each worker has queues of its own, which hold buffers.
  CHECK(three.pools.frames - one.pools.frames == 2 * (one.pools.frames - one.engine.custody_mbufs));
}

TEST_CASE("a NIC's devargs follow its address, and only a NIC has them") {
  const auto port = [](const std::string& text) { return read_port(Value::parse(text, "port.yaml")); };
  const PortConfig nic = port("{pci: \"0000:01:00.0\", devargs: \"rx_low_latency=1,representor=pf[0,1]vf[0-3],x\"}");
  CHECK(nic.device() == "0000:01:00.0");
  CHECK(nic.described() == "0000:01:00.0,rx_low_latency=1,representor=pf[0,1]vf[0-3],x");
  CHECK(port("{pci: \"0000:01:00.0\"}").described() == "0000:01:00.0");
  CHECK(port("{pci: \"0000:01:00.0\", devargs: \"proto_xtr='[(1,2-3):tcp,10:vlan]'\"}").devargs ==
        "proto_xtr='[(1,2-3):tcp,10:vlan]'");
  CHECK_THROWS_WITH(port("{vdev: net_null0, devargs: a=1}"),
                    Catch::Contains("port.yaml:1:28: devargs: only a NIC (pci) has devargs"));
  for (const char* wrong : {"\"\"", "\"a=1, b=2\"", "\"a=1,\"", "\",a=1\"", "\"a=1,,b=2\"", "\"a=[1,2\"", "\"a=1]\"",
                            "\"0000:01:00.0,a=1\"", "\"a=\\e\"", "[a]"}) {
    INFO(wrong);
    CHECK_THROWS_WITH(port(std::string("{pci: \"0000:01:00.0\", devargs: ") + wrong + "}"),
                      Catch::Contains("port.yaml:1:32: devargs: "));
  }
}

TEST_CASE("errors of a box name place and remedy") {
  struct Row {
    const char* yaml;
    const char* message;
  };
  const Row rows[] = {
      {"wan_rat: 1Gbps", "box.yaml:4:1: wan_rat: unknown key; did you mean \"wan_rate\"?"},
      {"zzzzzzzzz: 1", "box.yaml:4:1: zzzzzzzzz: unknown key (keys allowed here: name, "},
      {"wan_rate: 100",
       "box.yaml:4:11: wan_rate: expected a rate such as 100Gbps or 2.5Gbps, got \"100\": the unit is missing"},
      {"wan_rate: [1]", "box.yaml:4:11: wan_rate: expected a rate such as 100Gbps or 2.5Gbps, got a list"},
      {"wan_rate:", "wan_rate: expected a rate such as 100Gbps or 2.5Gbps, got nothing"},
      {"mtu: 20", "box.yaml:4:6: mtu: out of range: expected 68 to 9978, got \"20\""},
      {"mtu: 9k", "box.yaml:4:6: mtu: expected a whole number, got \"9k\""},
      {"mtu: -1", "mtu: expected a whole number"},
      {"descriptors: {receive: 63}", "descriptors.receive: out of range: expected 64 to 32768, got \"63\""},
      {"descriptors: {transmit: 65536}", "descriptors.transmit: out of range"},
      {"descriptors: {rx: 1024}", "descriptors.rx: unknown key"},
      {"descriptors: 1024", "descriptors: expected"},
      {"flow_control: on", "flow_control: "},
      {"mtu: 99999999999999999999999", "mtu: out of range"},
      {"hugepages: maybe", "box.yaml:4:12: hugepages: expected true or false, got \"maybe\""},
      {"link_loss: maybe", "box.yaml:4:12: link_loss: expected ignore or forward, got \"maybe\""},
      {"watchdog: {stall: 1us}", "box.yaml:4:19: watchdog.stall: "},
      {"idle: rest", "box.yaml:4:7: idle: expected poll or sleep, got \"rest\""},
      {"name: a\nname: b", "box.yaml:5:1: name: duplicate key, first used in line 4"},
      {"timers: {rto_min: 5}", "box.yaml:4:19: timers.rto_min: expected a duration"},
      {"timers: {rto_min: 5s}", "timers.rto_min: rto_min exceeds rto_max"},
      {"core: 1\ncores: [1, 2]", "box.yaml:5:8: cores: give either core or cores"},
      {"cores: [1, 2, 1]", "processor 1 already belongs to another worker"},
      {"cores: []", "box.yaml:4:8: cores: the list is empty: expected one processor for each worker, such as [2, 4]"},
      {"custody: {box_limit: 256MiB, initial_window: 65MiB}",
       "68157440 bytes exceed the limit of a flow without flow_limit, 67108864 bytes"},
      {"custody: {flow_limit: 16MiB, initial_window: 17MiB}", "17825792 bytes exceed flow_limit, 16777216 bytes"},
      {"custody: {box_limit: 16MiB, initial_window: 17MiB}",
       "17825792 bytes exceed the limit of a flow, all of box_limit, 16777216 bytes"},
      {"cores: [0, 1, 2, 3, 4, 5, 6, 7]\ncustody: {initial_window: 40MiB}",
       "box.yaml:5:27: custody.initial_window: 41943040 bytes exceed the limit of a flow, a worker's share of "
       "box_limit, 33554432 bytes"},
      {"mtu: 1500\ncustody: {round_trip: 30ms, rate: 100Gbps, least_frame: 4KiB}",
       "box.yaml:5:57: custody.least_frame: 375000000 bytes are promised in frames of 4096 bytes or more, but with mtu "
       "1500 no frame is larger than 1514: set mtu to 4082, or custody.least_frame to 1514B"},
      {"mtu: 576\ncustody: {round_trip: 30ms, rate: 100Gbps}",
       "box.yaml:5:23: custody.round_trip: 375000000 bytes are promised in frames of 1024 bytes "},
      {"cores: [0, 1, 2]\ncustody: {round_trip: 1ms, rate: 100Gbps, box_limit: 12500000B}",
       "custody.box_limit: 12500000 bytes are less than custody.round_trip promises, 12500000 bytes (100 Gbit/s for 1 "
       "ms): set 12500001B or more"},
      {"cores: [0, 2000]", "out of range: expected 0 to 1023"},
      {"spread: evenly", "spread"},
      {"cores: [0, 1]\ncustody: {box_limit: 64MiB, flow_limit: 40MiB}",
       "41943040 bytes for one flow exceed a worker's share of box_limit, 33554432 bytes for each of 2 workers"},
      {"custody: {flow_limit: 1GiB}", "custody.flow_limit: 1073741824 bytes for one flow exceed box_limit"},
      {"custody: {rate: 1Gbps}", "box.yaml:4:17: custody.rate: has no effect without custody.round_trip"},
      {"custody: {round_trip: 1ms}", "box.yaml:4:23: custody.round_trip: needs a rate: custody.rate, or wan_rate"},
      {"custody: {round_trip: 30ms, rate: 100Gbps, box_limit: 256MiB}",
       "box.yaml:4:55: custody.box_limit: 268435456 bytes are less than custody.round_trip promises, 375000000 bytes "
       "(100 Gbit/s for 30 ms): set 375000000B or more"},
      {"custody: {round_trip: 1us, rate: 1Gbps}",
       "custody.round_trip: this promises 125 bytes (1 Gbit/s for 0.001 ms)"},
      {"custody: {round_trip: 30ms, rate: 100Gbps, least_frame: 4KiB, mbufs: 16384}",
       "box.yaml:4:70: custody.mbufs: 16384 buffers cannot hold the promised 375000000 bytes (100 Gbit/s for 30 ms) in "
       "frames of 4096 bytes or more: set 91553 or more (or leave mbufs out, or set a larger custody.least_frame)"},
      {"custody: {box_limit: 256MiB, least_frame: 4KiB, mbufs: 16384}",
       "custody.mbufs: 16384 buffers cannot hold the promised 268435456 bytes (box_limit) in frames of 4096 bytes or "
       "more: set 65536 or more"},
      {"custody: {round_trip: 30ms, rate: 100Gbps, least_frame: 64B, small_mbufs: 65536}",
       "custody.small_mbufs: 65536 buffers cannot hold the promised 375000000 bytes (100 Gbit/s for 30 ms) in frames "
       "of 64 bytes or more: set 5859375 or more"},
      {"custody: {round_trip: 10s, rate: 800Gbps}",
       "custody.round_trip: 1000000000000 bytes (800 Gbit/s for 10000 ms) "
       "in frames of "},
      {"custody: []", "box.yaml:4:10: custody: expected a mapping of round_trip, "},
      {"policy: {rules: [{match: 10.9.0.0/99, policy: off}]}", "box.yaml:4:26: policy.rules[0].match: "},
      {"policy: {rules: [{policy: off}]}", "policy.rules[0]: the key \"match\" is missing"},
      {"policy: {rules: [{ece: some, policy: off}]}",
       "policy.rules[0].ece: 'some': expected any, none, or a vendor ID from 0x1 to 0xffffff"},
      {"policy: {default: fast}", "policy.default: expected off, window or full, got \"fast\""},
      {"confirm: [", "box.yaml:"},
      {"restart_record: box.record",
       "box.yaml:4:17: restart_record: expected an absolute path of a file such as /run/longhaul/box.record, got "},
      {"restart_record: /run/", "restart_record: expected an absolute path of a file"},
  };
  for (const Row& row : rows) {
    INFO(row.yaml);
    CHECK_THROWS_WITH(box_of(row.yaml),
                      Catch::StartsWith(row.message) || Catch::Contains(std::string(": ") + row.message));
  }
}

TEST_CASE("errors of the ports") {
  const auto read = [](const std::string& yaml) { return read_box(Value::parse(yaml, "f")); };
  CHECK_THROWS_WITH(read("name: x"), "f:1:1: the key \"ports\" is missing");
  CHECK_THROWS_WITH(read("ports: {host: {vdev: net_null0}}"),
                    Catch::Contains("f:1:8: ports: the key \"wan\" is missing"));
  CHECK_THROWS_WITH(read("ports: {host: {vdev: net_null0}, wan: {}}"),
                    Catch::Contains("ports.wan: expected either pci or vdev"));
  CHECK_THROWS_WITH(read("ports: {host: {vdev: net_null0}, wan: {pci: '01:00.0'}}"),
                    Catch::Contains("ports.wan.pci: expected a PCI address"));
  CHECK_THROWS_WITH(read("ports: {host: {vdev: net_null0}, wan: {vdev: 'net_null0,x=1'}}"),
                    Catch::Contains("is already the host port"));
  CHECK_THROWS_WITH(read(""), "f: is empty");
  CHECK_THROWS_WITH(read("a"), Catch::Contains("expected a mapping of name, ports"));
  CHECK_THROWS_WITH(read("a: 1\n---\nb: 2"), Catch::Contains("f:2:1: expected one document, got more"));
  // yaml-cpp would find empty documents there without end.
  CHECK_THROWS_WITH(read(","), Catch::Contains("f:1:1: expected one document, got more"));
  CHECK_THROWS_WITH(read("a: 1\n,"), Catch::Contains("f:2:1: "));
  CHECK_THROWS_WITH(load_box("/nonexistent/box.yaml"),
                    Catch::Contains("/nonexistent/box.yaml: cannot be read: No such file"));
  CHECK_THROWS_AS(load_box("/"), ConfigError);
}
