// SPDX-License-Identifier: BSD-3-Clause
// What a running box does with commands: one worker in a thread of its own, on ports in memory.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/box/shown_identity.hpp"
#include "app/control/box_control.hpp"
#include "app/control/commands.hpp"
#include "app/ctl/render.hpp"
#include "config/config_error.hpp"
#include "drivers/memory_port.hpp"
#include "support/hosts.hpp"
#include "support/mbufs.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
using namespace longhaul::app;
using namespace longhaul::test;

namespace {

const std::string kConfig =
    "name: near\n"
    "ports:\n  host: {vdev: \"net_null0\"}\n  wan: {vdev: \"net_null1\"}\n"
    "connections: 600\n"  // more than one portion
    "policy: {default: full, rules: [{match: 10.7.0.0/16, policy: \"off\"}]}\n";

class Recorded final : public Reply {
 public:
  void line(const Json& json) override { lines.push_back(json); }
  bool wanted() const override { return true; }
  std::vector<Json> lines;
};

expose::PortState port(Side side) {
  expose::PortState out;
  out.device = side == Side::host ? "host's" : "wan's";
  out.link_up = side == Side::host;
  out.stats.imissed = side == Side::host ? 7 : 0;
  return out;
}

class LiveBox {
 public:
  LiveBox() {
    write_config(kConfig);
    engine::PoolPlan plan;
    static unsigned serial = 0;  // the EAL needs a new name for each
    plan.name = "commands" + std::to_string(serial++);
    plan.frame_bytes = 2048;
    plan.frames = 1024;
    plan.small_frames = 1024;
    pools_ = engine::Pools::create(plan);
    std::tie(host_, host_box_) = drivers::MemoryPort::make_wire("host", 63);
    std::tie(wan_, wan_box_) = drivers::MemoryPort::make_wire("wan", 63);
    const config::BoxConfig config = config::load_box(file());
    WorkersOptions options;
    options.box.engine = config.engine;
    options.sleep_when_idle = true;
    workers_ =
        std::make_unique<Workers>(options, std::vector<WorkerPorts>{{*host_box_, *wan_box_, pools_, -1}}, clock_);
    gatherer_ = std::make_unique<Gatherer>(*workers_, requests_, identity_of(config, "1.2.3"), port, 0);
    box_ = std::make_unique<BoxControl>(*workers_, *gatherer_, config, file(), requests_);
    commands_ = std::make_unique<Commands>(*box_);
    thread_ = std::thread([this] { workers_->run(requests_); });
  }

  ~LiveBox() {
    requests_.stops = 2;
    thread_.join();
    take(*host_);
    take(*wan_);
    commands_.reset();
    box_.reset();
    gatherer_.reset();
    workers_.reset();
    host_box_.reset();
    wan_box_.reset();
    host_.reset();
    wan_.reset();
    pools_.destroy();
  }

  std::string file() const { return directory_ / "box.yaml"; }
  void write_config(const std::string& text) const { std::ofstream(file(), std::ios::trunc) << text; }

  /// The last line of the reply.
  Json tell(const Json& request, std::vector<Json>* before = nullptr) {
    Recorded reply;
    commands_->carry_out(request, reply);
    REQUIRE_FALSE(reply.lines.empty());
    const Json last = reply.lines.back();
    REQUIRE(last.at("done") == true);
    reply.lines.pop_back();
    if (before != nullptr) *before = reply.lines;
    return last;
  }
  Json tell(const char* command) { return tell(Json{{"command", command}}); }

  void from_host(const Bytes& frame) { send(*host_, frame, "frames_host"); }
  void from_wan(const Bytes& frame) { send(*wan_, frame, "frames_wan"); }

  /// A connection that is acknowledged from its second request on.
  void connect_confirmed(const Pair& pair) {
    from_host(pair.req());
    from_wan(pair.rep());
    from_host(pair.rtu());
    from_host(pair.write(pair.a_psn));
    from_wan(pair.ack(pair.a_psn, 1));
    REQUIRE(tell("counters").at("flows_confirmed").get<int>() >= 1);
  }

  std::uint64_t counter(const std::string& name) { return tell("counters").at(name).get<std::uint64_t>(); }
  BoxControl& box() { return *box_; }
  Requests& requests() { return requests_; }

 private:
  void send(drivers::Port& port, const Bytes& bytes, const std::string& counter_name) {
    const std::uint64_t before = counter(counter_name);
    rte_mbuf* frame = pool_.make(bytes);
    REQUIRE(port.transmit(&frame, 1) == 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (counter(counter_name) == before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    REQUIRE(counter(counter_name) == before + 1);
    take(*host_);
    take(*wan_);
  }
  static void take(drivers::Port& port) {
    rte_mbuf* frame = nullptr;
    while (port.receive(&frame, 1) == 1) rte_pktmbuf_free(frame);
  }

  test::TemporaryDirectory directory_;
  test::MbufPool pool_;
  engine::Pools pools_;
  const drivers::Clock clock_;
  std::unique_ptr<drivers::MemoryPort> host_, host_box_, wan_, wan_box_;
  Requests requests_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Gatherer> gatherer_;
  std::unique_ptr<BoxControl> box_;
  std::unique_ptr<Commands> commands_;
  std::thread thread_;
};

Pair second_pair() {
  Pair pair;
  pair.a_ip = "10.7.0.1";
  pair.a_qpn = 0x33;
  pair.b_qpn = 0x44;
  pair.a_comm = 0xa2;
  pair.b_comm = 0xb2;
  pair.transaction = 0x78;
  return pair;
}

std::size_t matched(LiveBox& box, Json query) {
  query["command"] = "flows";
  return box.tell(query).at("matched").get<std::size_t>();
}

/// Waits until flows() asks the workers again.
void let_age() { std::this_thread::sleep_for(Gatherer::kFlowsReused); }

}  // namespace

TEST_CASE("status and flows tell what custody holds and of whom", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  Pair off = second_pair();
  off.offered = {0x15b3, 7};
  box.from_host(off.req());
  box.from_wan(off.rep());
  const Bytes held = pair.write(101);
  box.from_host(held);
  let_age();
  const Json status = box.tell("status");
  CHECK(status["name"] == "near");
  CHECK(status["state"] == "running");
  CHECK(status["custody"]["packets"] == 1);
  CHECK(status["custody"]["bytes"] == held.size());
  CHECK(status["unconfirmed_bytes"] == held.size());
  CHECK(status["flows"]["total"] == 2);
  CHECK(status["flows"]["confirmed"] == 1);
  CHECK(status["rates"]["over_seconds"].get<double>() > 0);
  CHECK_THAT(status_text(status), Catch::Contains("near: running") && Catch::Contains("longhaul 1.2.3") &&
                                      Catch::Contains("host port    link up, in 0 frames, out 0 frames, imissed 7") &&
                                      Catch::Contains("wan port     link down") && Catch::Contains("confirmed"));

  // A frame that the box cannot follow.
  CHECK(status["roce"]["host_frames"].get<int>() >= 4);
  CHECK(status["roce"]["wan_frames"].get<int>() >= 3);
  CHECK(status["roce"]["inside"]["tags"] == 0);
  CHECK_THAT(status_text(status), Catch::Contains("frames from hosts") && !Catch::Contains("not followed"));
  Bytes hidden = pair.write(102);
  for (const std::uint8_t vid : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    const Bytes tag = {0x81, 0, 0, vid};
    hidden.insert(hidden.begin() + 12, tag.begin(), tag.end());
  }
  box.from_host(hidden);
  CHECK_THAT(status_text(box.tell("status")), Catch::Contains("not followed: 1 in tags"));

  CHECK(matched(box, {}) == 2);
  CHECK(matched(box, {{"host", "10.7.0.0/16"}}) == 1);
  CHECK(matched(box, {{"host", "10.0.0.2"}}) == 2);  // either end
  CHECK(matched(box, {{"host", "fd00::/64"}}) == 0);
  CHECK(matched(box, {{"state", "confirmed"}}) == 1);
  CHECK(matched(box, {{"policy", "off"}}) == 1);
  CHECK(matched(box, {{"min_custody", 1}}) == 1);
  for (const char* key : {"custody", "unconfirmed", "bytes", "rtt"}) {
    std::vector<Json> lines;
    const Json last = box.tell({{"command", "flows"}, {"sort", key}, {"limit", 1}}, &lines);
    REQUIRE(lines.size() == 1);
    CHECK(last["matched"] == 2);
    const Json flow = lines[0]["flow"];
    CHECK(flow["host"] == "10.0.0.1");
    CHECK(flow["host_qpn"] == pair.a_qpn);
    const Json alone = box.tell({{"command", "flow"}, {"id", flow["id"]}});
    CHECK(alone["flow"]["custody_packets"] == 1);
    CHECK_THAT(flow_text(flow), Catch::Contains("10.0.0.1"));
    CHECK_THAT(flows_text({flow}, last), Catch::Contains("10.0.0.1:0x11") && Catch::Contains("1 of 2 flows; 2 match"));
  }
  {
    std::vector<Json> lines;
    const Json last = box.tell({{"command", "flows"}, {"policy", "off"}}, &lines);
    REQUIRE(lines.size() == 1);
    const Json flow = lines[0]["flow"];
    CHECK(flow["ece"]["offered"] == Json({{"vendor_id", 0x15b3}, {"attribute_modifier", 7}}));
    CHECK(flow["ece"]["accepted"].is_null());
    CHECK(flow["not_accelerated"] == Json::object());
    CHECK_THAT(flows_text({flow}, last), Catch::Contains(" refused "));
    CHECK_THAT(flow_text(flow), Catch::Contains("offered: vendor 0x15b3, options 0x7; accepted: none"));
  }
  box.from_host(off.write(off.a_psn));
  let_age();
  {
    std::vector<Json> lines;
    const Json last = box.tell({{"command", "flows"}, {"policy", "off"}}, &lines);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0]["flow"]["not_accelerated"] == Json({{"policy", 1}}));
    CHECK_THAT(flows_text({lines[0]["flow"]}, last), Catch::Contains("PLAIN FOR") && Catch::Contains(" policy\n"));
    CHECK_THAT(flow_text(lines[0]["flow"]), Catch::Contains("1 policy"));
  }
  CHECK_THROWS_WITH(box.tell({{"command", "flow"}, {"id", 999999}}), Catch::Contains("no flow 999999"));
  CHECK_THROWS_WITH(box.tell({{"command", "flows"}, {"host", "10.0"}}), Catch::Contains("host"));
  CHECK_THROWS_WITH(box.tell({{"command", "flows"}, {"colour", "red"}}),
                    Catch::Contains("unknown parameter \"colour\""));
  CHECK_THROWS_WITH(box.tell("fly"), Catch::Contains("no command \"fly\"") && Catch::Contains("policy set"));
}

TEST_CASE("policies change at run time, and say how many connections that is about", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  Json reply = box.tell({{"command", "policy set"}, {"prefix", "10.0.0.2"}, {"policy", "off"}});
  CHECK(reply["connections_changed"] == 1);
  CHECK(reply["policy"]["rules"][0]["match"] == "10.0.0.2/32");
  CHECK(reply["policy"]["rules"].size() == 2);
  CHECK_THAT(reply["lasts"].get<std::string>(), Catch::Contains("reload"));
  const std::uint64_t acknowledged = box.counter("pseudo_acks");
  box.from_host(pair.write(101));
  CHECK(box.counter("pseudo_acks") == acknowledged);
  // A rule for the same prefix replaces the old one.
  reply = box.tell({{"command", "policy set"}, {"prefix", "10.0.0.2/32"}, {"policy", "window"}});
  CHECK(reply["policy"]["rules"].size() == 2);
  CHECK(reply["connections_changed"] == 1);
  reply = box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}});
  CHECK(reply["policy"]["rules"].size() == 1);
  CHECK_THROWS_WITH(box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}}),
                    Catch::Contains("no rule for exactly 10.0.0.2/32"));
  // A rule about vendor features stands beside the one without.
  box.tell({{"command", "policy set"}, {"prefix", "10.0.0.2/32"}, {"policy", "window"}});
  reply = box.tell({{"command", "policy set"}, {"prefix", "10.0.0.2/32"}, {"policy", "off"}, {"ece", "any"}});
  CHECK(reply["policy"]["rules"].size() == 3);
  CHECK(reply["connections_changed"] == 0);
  CHECK_THAT(policy_text(reply["policy"]), Catch::Contains("10.0.0.2/32 ece any"));
  reply = box.tell({{"command", "policy set"}, {"prefix", "10.0.0.2/32"}, {"policy", "off"}, {"ece", "none"}});
  CHECK(reply["connections_changed"] == 1);
  box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}, {"ece", "any"}});
  box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}, {"ece", "none"}});
  CHECK_THROWS_WITH(box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}, {"ece", "none"}}),
                    Catch::Contains("no rule for exactly 10.0.0.2/32 and ECE none"));
  CHECK_THROWS_WITH(box.tell({{"command", "policy set"}, {"prefix", "::/0"}, {"policy", "off"}, {"ece", "some"}}),
                    Catch::Contains("any, none, or a vendor ID"));
  box.tell({{"command", "policy unset"}, {"prefix", "10.0.0.2/32"}});
  reply = box.tell({{"command", "policy default"}, {"policy", "off"}});
  CHECK(reply["connections_changed"] == 1);
  CHECK(box.tell("policy show")["policy"]["default"] == "off");
  CHECK_THAT(policy_text(reply["policy"]), Catch::Contains("10.7.0.0/16"));
  CHECK_THROWS_AS(box.tell({{"command", "policy set"}, {"prefix", "10.0.0.0/40"}, {"policy", "off"}}), CommandError);
  CHECK_THROWS_WITH(box.tell({{"command", "policy default"}, {"policy", "some"}}),
                    Catch::Contains("off, window, full"));
}

TEST_CASE("a drain waits until custody is empty, and for so long only as it may", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  box.from_host(pair.write(101));
  try {
    box.tell({{"command", "drain"}, {"timeout_ms", 1}});
    FAIL("it did not time out");
  } catch (const CommandError& error) {
    CHECK(error.exit == Exit::timed_out);
    CHECK_THAT(error.what(), Catch::Contains("1 packets"));
  }
  CHECK(box.tell("status")["state"] == "draining");
  const std::uint64_t acknowledged = box.counter("pseudo_acks");
  box.from_host(pair.write(102));
  CHECK(box.counter("pseudo_acks") == acknowledged);

  std::vector<Json> lines;
  std::thread responder([&box, &pair] { box.from_wan(pair.ack(102, 3)); });
  const Json last = box.tell({{"command", "drain"}}, &lines);
  responder.join();
  CHECK(last.contains("seconds"));
  for (const Json& line : lines) CHECK_THAT(progress_text(line["progress"]), Catch::Contains("1 packets"));
  CHECK(box.box().custody().packets == 0);

  box.tell("resume");
  CHECK(box.tell("status")["state"] == "running");
  // Requests go into custody again, and are acknowledged once an ACK has given the MSN.
  box.from_host(pair.write(103));
  box.from_wan(pair.ack(103, 4));
  box.from_host(pair.write(104));
  CHECK(box.counter("pseudo_acks") == acknowledged + 1);
}

TEST_CASE("resume ends a drain that somebody else waits for", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  box.from_host(pair.write(101));
  std::string why;
  std::thread waits([&] {
    try {
      box.tell("drain");
    } catch (const CommandError& error) {
      why = error.what();
    }
  });
  while (box.box().mode() != State::draining) std::this_thread::yield();
  box.tell("resume");
  waits.join();
  CHECK_THAT(why, Catch::Contains("another command ended the drain: the box is running"));
}

TEST_CASE("bypass drains first; --now fails who has custody, and says how much that is", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  const Bytes held = pair.write(101);
  box.from_host(held);
  CHECK_THROWS_AS(box.tell({{"command", "bypass on"}, {"timeout_ms", 1}}), CommandError);
  CHECK(box.box().mode() == State::draining);
  const Json now = box.tell({{"command", "bypass on"}, {"now", true}});
  CHECK(now["connections_forgotten"] == 1);
  CHECK(now["flows_failed"] == 1);
  CHECK(now["failed_bytes"] == held.size());
  CHECK(box.counter("failed_bytes") == held.size());
  CHECK(box.tell("status")["state"] == "bypass");
  CHECK_THROWS_WITH(box.tell("drain"), Catch::Contains("bypass is on"));
  CHECK_THROWS_WITH(box.tell("resume"), Catch::Contains("bypass off"));
  box.from_host(pair.write(102));
  CHECK(box.counter("bypassed") == 1);
  box.tell("bypass off");
  CHECK_THROWS_WITH(box.tell("bypass off"), Catch::Contains("not on"));

  const Pair next = second_pair();
  box.tell({{"command", "policy unset"}, {"prefix", "10.7.0.0/16"}});
  box.connect_confirmed(next);
  const Json drained = box.tell("bypass on");
  CHECK(drained["connections_forgotten"] == 1);
  CHECK(drained["flows_failed"] == 0);
  CHECK(box.counter("flows_failed") == 1);
}

TEST_CASE("a reload takes over what may change, all of it or nothing", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  CHECK(box.tell("reload")["changes"].empty());
  const auto with = [](const std::string& more) {
    return "name: near\nports:\n  host: {vdev: \"net_null0\"}\n  wan: {vdev: \"net_null1\"}\nconnections: 600\n" + more;
  };
  box.write_config(with("policy: {default: \"off\"}\ntimers: {give_up: 30s, drain: 3s}\nwan_rate: 10Gbps\n"));
  const Json reply = box.tell("reload");
  CHECK(reply["connections_changed"] == 1);
  std::vector<std::string> keys;
  for (const Json& change : reply["changes"]) keys.push_back(change["key"]);
  CHECK(keys ==
        std::vector<std::string>{"wan_rate", "policy.default", "policy.rules", "timers.give_up", "timers.drain"});
  CHECK_THAT(changes_text(reply["changes"]), Catch::Contains("timers.give_up: 60s -> 30s"));
  const auto shown = [&box](const std::string& name) -> std::string {
    const Json config = box.tell("config show");
    for (const Json& key : config["keys"])
      if (key["key"] == name) return key["value"];
    return "no such key";
  };
  CHECK(shown("timers.drain") == "3s");

  box.write_config(with("policy: {default: full}\nmtu: 4096\nidle: sleep\n"));
  CHECK_THROWS_WITH(box.tell("reload"), Catch::Contains("nothing was changed") &&
                                            Catch::Contains("mtu (now the ports'") && Catch::Contains("idle"));
  CHECK(shown("policy.default") == "off");
  const Json checked = box.tell({{"command", "config check"}, {"file", "x.yaml"}, {"text", with("mtu: 4096\n")}});
  bool mtu_is_fixed = false;
  for (const Json& change : checked["changes"])
    if (change["key"] == "mtu") mtu_is_fixed = change["live"] == false;
  CHECK(mtu_is_fixed);

  box.write_config(with("timers: {give_up: soon}\n"));
  try {
    box.tell("reload");
    FAIL("no error");
  } catch (const CommandError& error) {
    CHECK(error.exit == Exit::usage);
    CHECK_THAT(error.what(), Catch::Contains("box.yaml:6") && Catch::Contains("timers.give_up"));
  }
  CHECK(shown("timers.give_up") == "30s");
}

TEST_CASE("a box that has been told to stop changes nothing any more", "[control]") {
  LiveBox box;
  const Pair pair;
  box.connect_confirmed(pair);
  box.from_host(pair.write(101));  // the box drains for this request
  box.requests().stops = 1;
  CHECK_THROWS_WITH(box.tell("resume"), Catch::Contains("the box is stopping"));
  CHECK_THROWS_WITH(box.tell({{"command", "bypass on"}, {"now", true}}), Catch::Contains("the box is stopping"));
  CHECK(box.tell("status")["state"] == "stopping");
  box.requests().stops = 2;
  // A worker that has ended costs no patience.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool silent = false;
  while (!silent && std::chrono::steady_clock::now() < end) {
    try {
      box.tell("status");
    } catch (const WorkerSilent&) {
      silent = true;
    }
  }
  CHECK(silent);
}
