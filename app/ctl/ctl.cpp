// SPDX-License-Identifier: BSD-3-Clause
// `longhaul ctl`: asks a running box, and tells it what to do.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command/guard.hpp"
#include "app/command/subcommands.hpp"
#include "app/command/validators.hpp"
#include "app/ctl/client.hpp"
#include "app/ctl/render.hpp"
#include "app/ctl/top.hpp"
#include "app/protocol/base64.hpp"
#include "app/protocol/flow_sort.hpp"
#include "base/bytes_text.hpp"
#include "base/phase.hpp"
#include "base/policy.hpp"
#include "base/side.hpp"
#include "config/quantity.hpp"
#include "drivers/pcapng_writer.hpp"

namespace longhaul::app {
namespace {

struct Options {
  std::string socket;
  std::string name;
  bool json = false;

  std::string at() const {
    if (!socket.empty()) return socket;
    if (!name.empty()) return fmt::format("{}/{}.sock", kSocketDirectory, name);
    return only_socket_in(kSocketDirectory);
  }
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_json(const Json& json) { print(json.dump(2) + '\n'); }

/// The progress of a long command. It is for people, so it goes to standard error.
void tell_progress(const Json& line) {
  if (!line.contains("progress")) return;
  std::fputs(progress_text(line["progress"]).c_str(), stderr);
}

/// Milliseconds from "30s"; throws CommandError.
std::uint64_t timeout_ms(const std::string& text) {
  try {
    return static_cast<std::uint64_t>(config::parse_duration(text) / milliseconds(1));
  } catch (const config::QuantityError& error) {
    throw CommandError(std::string("--timeout: ") + error.what(), Exit::usage);
  }
}

int guarded_ctl(const std::function<void()>& work) {
  return guarded("ctl", [&] {
    try {
      work();
      return static_cast<int>(Exit::ok);
    } catch (const CommandError& error) {
      fmt::print(stderr, "longhaul ctl: {}\n", error.what());
      return static_cast<int>(error.exit);
    }
  });
}

/// A subcommand that does `work` when it is chosen.
template <typename Work>
CLI::App* add(CLI::App& to, const std::string& name, const std::string& help, int& exit_code, Work work) {
  CLI::App* command = to.add_subcommand(name, help);
  command->callback([&exit_code, work] { exit_code = guarded_ctl(work); });
  return command;
}

/// The value is one of these names. The help shows all of them.
void expect_one_of(CLI::Option* option, std::span<const std::string_view> names) {
  option->type_name(fmt::format("{}", fmt::join(names, "|")))->check(one_of(names));
}

using Given = std::shared_ptr<Options>;

void add_json(CLI::App* command, const Given& options) {
  command->add_flag("--json", options->json, "print JSON instead of text");
}

// ---- what is asked ----------------------------------------------------------------------------

void add_status(CLI::App& to, const Given& options, int& exit_code) {
  add_json(add(to, "status", "show state, ports, custody, flows by state, losses, and rates since the last status",
               exit_code,
               [options] {
                 const Json status = ask(options->at(), {{"command", "status"}});
                 options->json ? print_json(status) : print(status_text(status));
               }),
           options);
  add(to, "counters", "show all counters by name, as JSON", exit_code, [options] {
    print_json(ask(options->at(), {{"command", "counters"}}));
  });
}

void add_pairs(CLI::App& to, const Given& options, int& exit_code) {
  add_json(
      add(to, "pairs", "list the pairs of hosts that take most of the workers' time, of custody, or of what is refused",
          exit_code,
          [options] {
            const Json reply = ask(options->at(), {{"command", "pairs"}});
            options->json ? print_json(reply) : print(pairs_text(reply));
          }),
      options);
}

void add_peers(CLI::App& to, const Given& options, int& exit_code) {
  add_json(add(to, "peers", "list the boxes at the other ends, whether they are there, and what may be the matter",
               exit_code,
               [options] {
                 const Json reply = ask(options->at(), {{"command", "peers"}});
                 options->json ? print_json(reply) : print(peers_text(reply));
               }),
           options);
}

void add_top(CLI::App& to, const Given& options, int& exit_code) {
  const auto given = std::make_shared<TopOptions>();
  CLI::App* command =
      add(to, "top", "show rates, custody, what is not accelerated and why, and the busiest pairs, live", exit_code,
          [options, given] {
            const std::string socket = options->at();
            given->json = options->json;
            top([&socket](const char* name) { return ask(socket, {{"command", name}}); }, *given);
          });
  command->add_option("--interval", given->interval, "draw again every SECONDS seconds; rates are for that time")
      ->capture_default_str()
      ->check(number(0.1, 3600))
      ->type_name("SECONDS");
  CLI::Option* once = command->add_flag("--once", given->once, "print it once, after one interval, and end");
  command->add_flag("--json", options->json, "with --once: print JSON instead of text")->needs(once);
  command->footer("Ends with q or Ctrl-C.");
}

struct FlowOptions {
  std::string host, state, policy, min_custody, sort = "custody";
  std::uint64_t limit = 50;
  double watch = 0;
};

Json flows_request(const FlowOptions& given) {
  Json request = {{"command", "flows"}, {"sort", given.sort}, {"limit", given.limit}};
  if (!given.host.empty()) request["host"] = given.host;
  if (!given.state.empty()) request["state"] = given.state;
  if (!given.policy.empty()) request["policy"] = given.policy;
  if (!given.min_custody.empty()) {
    try {
      request["min_custody"] = config::parse_size(given.min_custody);
    } catch (const config::QuantityError& error) {
      throw CommandError(std::string("--min-custody: ") + error.what(), Exit::usage);
    }
  }
  return request;
}

void show_flows(const Options& options, const Json& request) {
  std::vector<Json> flows;
  Json last = ask(options.at(), request, [&flows](const Json& line) { flows.push_back(line.at("flow")); });
  if (!options.json) {
    print(flows_text(flows, last));
    return;
  }
  last["flows"] = flows;
  print_json(last);
}

void add_flows(CLI::App& to, const Given& options, int& exit_code) {
  auto given = std::make_shared<FlowOptions>();
  CLI::App* command =
      add(to, "flows", "list connections, those with most data in custody first", exit_code, [options, given] {
        const Json request = flows_request(*given);
        if (given->watch == 0) return show_flows(*options, request);
        for (;;) {
          if (isatty(STDOUT_FILENO) == 1) print("\033[H\033[2J");
          show_flows(*options, request);
          std::this_thread::sleep_for(std::chrono::duration<double>(given->watch));
        }
      });
  command->add_option("--host", given->host, "only connections with an end in this prefix, such as 10.9.0.0/24")
      ->type_name("PREFIX");
  expect_one_of(command->add_option("--state", given->state, "only connections in this state"), kPhaseNames);
  expect_one_of(command->add_option("--policy", given->policy, "only connections with this policy"), kPolicyNames);
  command
      ->add_option("--min-custody", given->min_custody,
                   "only connections with at least this much in custody, such as 64KiB")
      ->type_name("SIZE");
  expect_one_of(command->add_option("--sort", given->sort, "largest first by this column (default custody)"),
                kFlowSortKeys);
  command->add_option("--limit", given->limit, "show at most N connections; 0: all")
      ->capture_default_str()
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX));
  command
      ->add_option_function<double>(
          "--watch", [given](double every) { given->watch = every; },
          "repeat every SECONDS seconds (default 2) until interrupted")
      ->expected(0, 1)
      ->default_str("2")
      ->check(number(0.1, 3600))
      ->type_name("SECONDS");
  add_json(command, options);
}

void add_flow(CLI::App& to, const Given& options, int& exit_code) {
  auto id = std::make_shared<std::uint64_t>();
  CLI::App* command = add(to, "flow", "show everything the box knows about one connection", exit_code, [options, id] {
    const Json flow = ask(options->at(), {{"command", "flow"}, {"id", *id}}).at("flow");
    options->json ? print_json(flow) : print(flow_text(flow));
  });
  command->add_option("id", *id, "ID of the connection, as shown by `flows`")
      ->required()
      ->type_name("ID")
      ->check(whole_number(0, UINT64_MAX));
  add_json(command, options);
}

// ---- what is changed --------------------------------------------------------------------------

void show_policy(const Options& options, const Json& reply) {
  if (options.json) return print_json(reply);
  print(policy_text(reply.at("policy")));
  if (reply.contains("connections_changed"))
    print(fmt::format("the policy of {} connections changed; this lasts {}\n",
                      reply["connections_changed"].get<std::uint64_t>(), reply.value("lasts", "")));
}

void add_policy(CLI::App& to, const Given& options, int& exit_code) {
  CLI::App* policy =
      to.add_subcommand("policy", "show which connections are accelerated, or change it until the next reload");
  policy->require_subcommand(1);
  struct Rule {
    std::string prefix, policy, ece;
  };
  const auto rule = std::make_shared<Rule>();
  const auto tell = [options, rule](const char* command, bool prefix, bool named) {
    return [=] {
      Json request = {{"command", command}};
      if (prefix) request["prefix"] = rule->prefix;
      if (named) request["policy"] = rule->policy;
      if (!rule->ece.empty()) request["ece"] = rule->ece;
      show_policy(*options, ask(options->at(), request));
    };
  };
  CLI::App* show =
      add(*policy, "show", "show the rules; the first rule that contains either end of a connection applies", exit_code,
          tell("policy show", false, false));
  CLI::App* set =
      add(*policy, "set", "put a rule for a prefix before all others", exit_code, tell("policy set", true, true));
  CLI::App* unset =
      add(*policy, "unset", "remove the rule for exactly this prefix", exit_code, tell("policy unset", true, false));
  CLI::App* fallback = add(*policy, "default", "set the policy of connections that no rule matches", exit_code,
                           tell("policy default", false, true));
  for (CLI::App* command : {set, unset}) {
    command->add_option("prefix", rule->prefix, "prefix of either end, such as 10.9.0.0/24 or fd00:9::/64; ::/0: all")
        ->required()
        ->type_name("PREFIX");
    command
        ->add_option("--ece", rule->ece,
                     "only connections for which RDMA-CM agreed on vendor features: any, none, or those of a vendor ID "
                     "such as 0x15b3")
        ->type_name("ECE");
  }
  for (CLI::App* command : {set, fallback})
    expect_one_of(
        command->add_option("policy", rule->policy, "what the box does for them (docs/semantics.md)")->required(),
        kPolicyNames);
  for (CLI::App* command : {show, set, unset, fallback}) add_json(command, options);
}

void add_timeout(CLI::App* command, std::string& to) {
  command
      ->add_option("--timeout", to,
                   "stop waiting after DURATION, such as 30s, with exit code 3; the box goes on draining (default: "
                   "wait until custody is empty; a connection whose far end answers nothing fails after "
                   "timers.give_up)")
      ->type_name("DURATION");
}

void add_drain(CLI::App& to, const Given& options, int& exit_code) {
  const auto timeout = std::make_shared<std::string>();
  CLI::App* drain = add(
      to, "drain", "acknowledge nothing new and wait until custody is empty; the box can then be stopped without loss",
      exit_code, [options, timeout] {
        Json request = {{"command", "drain"}};
        if (!timeout->empty()) request["timeout_ms"] = timeout_ms(*timeout);
        const Json reply = ask(options->at(), request, tell_progress);
        options->json ? print_json(reply) : print("custody is empty; nothing new is acknowledged until `resume`\n");
      });
  add_timeout(drain, *timeout);
  add_json(drain, options);
  add(to, "resume", "end a drain: acknowledge by policy again", exit_code, [options] {
    ask(options->at(), {{"command", "resume"}});
    print("running\n");
  });
}

/// Throws CommandError unless a person at a terminal said yes.
void confirm(const Options& options, bool yes) {
  if (yes) return;
  if (isatty(STDIN_FILENO) != 1)
    throw CommandError("bypass on --now fails connections with data acknowledged but not delivered; confirm with --yes",
                       Exit::usage);
  const Json status = ask(options.at(), {{"command", "status"}});
  fmt::print(stderr, "{}: {} are acknowledged but not delivered yet. Their connections will fail. Continue? [y/N] ",
             status.value("name", ""), bytes_text(status.value("unconfirmed_bytes", 0.0)));
  std::string answer;
  if (!std::getline(std::cin, answer) || (answer != "y" && answer != "yes")) throw CommandError("nothing was changed");
}

void add_bypass(CLI::App& to, const Given& options, int& exit_code) {
  CLI::App* bypass = to.add_subcommand("bypass", "forward everything untouched, as a wire does");
  bypass->require_subcommand(1);
  struct On {
    bool now = false, yes = false;
    std::string timeout;
  };
  const auto given = std::make_shared<On>();
  CLI::App* on = add(
      *bypass, "on", "drain, then forward everything untouched and forget all connections", exit_code,
      [options, given] {
        Json request = {{"command", "bypass on"}, {"now", given->now}};
        if (!given->timeout.empty()) request["timeout_ms"] = timeout_ms(given->timeout);
        if (given->now) confirm(*options, given->yes);
        const Json reply = ask(options->at(), request, tell_progress);
        if (options->json) return print_json(reply);
        print(fmt::format(
            "bypass is on: {} connections forgotten; {} of them failed with {} bytes acknowledged but not delivered\n",
            reply["connections_forgotten"].get<std::uint64_t>(), reply["flows_failed"].get<std::uint64_t>(),
            reply["failed_bytes"].get<std::uint64_t>()));
      });
  CLI::Option* now = on->add_flag("--now", given->now,
                                  "do not drain: connections with data acknowledged but not delivered fail; the box "
                                  "counts and logs them and sends their requesters a fatal NAK where it can");
  on->add_flag("--yes", given->yes, "with --now: do not ask for confirmation")->needs(now);
  add_timeout(on, given->timeout);
  add_json(on, options);
  add(*bypass, "off", "acknowledge by policy again; connections are learned afresh", exit_code, [options] {
    ask(options->at(), {{"command", "bypass off"}});
    print("running\n");
  });
}

// ---- capture ----------------------------------------------------------------------------------

struct CaptureOptions {
  std::uint64_t id = 0;
  std::string host, output, time = "10s";
  std::uint64_t packets = 1000, snaplen = 256;
};

void capture(const Options& options, const CaptureOptions& given, bool by_id) {
  Json request = {{"command", "capture"}, {"packets", given.packets}, {"snaplen", given.snaplen}};
  if (by_id)
    request["id"] = given.id;
  else
    request["host"] = given.host;
  request["time_ms"] = timeout_ms(given.time);
  // The interface says at which port a frame was seen.
  static constexpr std::array<std::string_view, 2> kPorts = {name_of(Side::host), name_of(Side::wan)};
  drivers::PcapngWriter file(given.output, kPorts, "longhaul " LONGHAUL_VERSION);
  const Json last = ask(options.at(), request, [&file](const Json& line) {
    if (!line.contains("frame")) return;
    const Json& frame = line["frame"];
    file.write(frame.at("side") == kPorts[0] ? 0 : 1,
               frame.at("way") == "in" ? drivers::PcapngWriter::Way::in : drivers::PcapngWriter::Way::out,
               frame.at("time_ns").get<std::uint64_t>(), frame.at("size").get<std::uint32_t>(),
               from_base64(frame.at("bytes").get<std::string>()));
  });
  file.close();
  print(fmt::format("{}: the last {} of {} frames seen\n", given.output, last["frames"].get<std::uint64_t>(),
                    last["seen"].get<std::uint64_t>()));
}

void add_capture(CLI::App& to, const Given& options, int& exit_code) {
  const auto given = std::make_shared<CaptureOptions>();
  CLI::App* command =
      to.add_subcommand("capture", "write the last RoCE frames of a flow, in and out of both ports, as pcapng");
  CLI::Option* id = command->add_option("id", given->id, "ID of the flow, as shown by `flows`")
                        ->type_name("ID")
                        ->check(whole_number(0, UINT64_MAX));
  CLI::Option* host =
      command->add_option("--host", given->host, "capture all flows with an end in this prefix")->type_name("PREFIX");
  id->excludes(host);
  command->add_option("--packets", given->packets, "keep the last N frames")
      ->capture_default_str()
      ->type_name("N")
      ->check(whole_number(1, UINT64_MAX));
  command->add_option("--snaplen", given->snaplen, "bytes to keep of each frame, 64 to 9216")
      ->capture_default_str()
      ->type_name("BYTES")
      ->check(whole_number(0, UINT32_MAX));
  command->add_option("--time", given->time, "capture for this long, unless `capture stop` ends it first")
      ->capture_default_str()
      ->type_name("DURATION");
  command->add_option("--output", given->output, "file to write; ctl writes it with your own rights")
      ->type_name("FILE");
  CLI::App* stop = add(*command, "stop", "end the capture that is running; its file is written", exit_code, [options] {
    ask(options->at(), {{"command", "capture stop"}});
  });
  command->callback([options, given, id, host, stop, &exit_code] {
    if (stop->parsed()) return;
    exit_code = guarded_ctl([&] {
      if (id->count() + host->count() == 0) throw CommandError("capture: needs ID or --host", Exit::usage);
      if (given->output.empty()) throw CommandError("capture: needs --output FILE", Exit::usage);
      capture(*options, *given, id->count() > 0);
    });
  });
}

// ---- configuration ----------------------------------------------------------------------------

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What a reload of a valid file would do, if a box runs that can be asked. Null if none does and none was named.
Json compared_with_running(const Options& options, const std::string& file) {
  try {
    return ask(options.at(), {{"command", "config check"}, {"file", file}, {"text", text_of_file(file)}}).at("changes");
  } catch (const std::exception& error) {
    if (!options.socket.empty() || !options.name.empty()) throw;
    return nullptr;
  }
}

void print_comparison(const Json& changes) {
  if (changes.is_null()) return print("no box is running to compare it with\n");
  Json live = Json::array();
  Json fixed = Json::array();
  for (const Json& change : changes) (change.value("live", false) ? live : fixed).push_back(change);
  if (live.empty() && fixed.empty()) print("the running box has exactly this configuration\n");
  if (!live.empty()) print("a reload would change:\n" + changes_text(live));
  if (!fixed.empty()) print("a reload would be refused; these changes need a restart:\n" + changes_text(fixed));
}

void add_config(CLI::App& to, const Given& options, const CheckBox& check_box, int& exit_code) {
  CLI::App* config = to.add_subcommand("config", "check or show the configuration of a box");
  config->require_subcommand(1);
  const auto file = std::make_shared<std::string>();
  CLI::App* check = add(*config, "check", "check whether a file is valid and what reloading it would change", exit_code,
                        [options, file, check_box] {
                          const std::string box = check_box(*file);
                          const Json changes = compared_with_running(*options, *file);
                          if (options->json) return print_json({{"name", box}, {"changes", changes}});
                          print(fmt::format("{}: {} is valid\n", box, *file));
                          print_comparison(changes);
                        });
  check->add_option("file", *file, "configuration of a box (YAML)")->required()->type_name("FILE");
  add_json(check, options);
  CLI::App* show = add(*config, "show", "show the value of each key in the running box", exit_code, [options] {
    const Json reply = ask(options->at(), {{"command", "config show"}});
    if (options->json) return print_json(reply);
    print(fmt::format("{}, with later changes; keys marked * can be changed by `reload`\n", reply.value("file", "")));
    for (const Json& key : reply["keys"])
      print(fmt::format("{} {:<24} {}\n", key.value("live", false) ? '*' : ' ', key.value("key", ""),
                        key.value("value", "")));
  });
  add_json(show, options);
  CLI::App* reload = add(
      to, "reload", "read the configuration file again, as SIGHUP does; all of it is applied, or nothing", exit_code,
      [options] {
        const Json reply = ask(options->at(), {{"command", "reload"}});
        if (options->json) return print_json(reply);
        print(reply["changes"].empty() ? "nothing has changed\n" : changes_text(reply["changes"]));
        print(fmt::format("the policy of {} connections changed\n", reply["connections_changed"].get<std::uint64_t>()));
      });
  add_json(reload, options);
}

/// `ctl status --name near` means the same as `ctl --name near status`.
void take_options_anywhere(CLI::App& ctl) {
  for (CLI::App* command : ctl.get_subcommands([](CLI::App*) { return true; })) {
    command->fallthrough();
    take_options_anywhere(*command);
  }
}

}  // namespace

void add_ctl(CLI::App& app, int& exit_code, const CheckBox& check_box) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ctl", "query and control a running box");
  command->require_subcommand(1);
  command->footer("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 timed out.");
  CLI::Option* socket = command
                            ->add_option("--socket", options->socket,
                                         "control socket of the box (default: the only one in /run/longhaul)")
                            ->type_name("SOCKET");
  command->add_option("--name", options->name, "name of the box instead: the socket is /run/longhaul/NAME.sock")
      ->type_name("BOX")
      ->excludes(socket);
  add_status(*command, options, exit_code);
  add_pairs(*command, options, exit_code);
  add_peers(*command, options, exit_code);
  add_top(*command, options, exit_code);
  add_flows(*command, options, exit_code);
  add_flow(*command, options, exit_code);
  add_policy(*command, options, exit_code);
  add_drain(*command, options, exit_code);
  add_bypass(*command, options, exit_code);
  add_capture(*command, options, exit_code);
  add_config(*command, options, check_box, exit_code);
  take_options_anywhere(*command);
}

}  // namespace longhaul::app
