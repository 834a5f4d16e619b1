// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/commands.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/control/flow_query.hpp"
#include "config/config_error.hpp"
#include "expose/statistics.hpp"
#include "expose/status.hpp"

namespace longhaul::app {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostRules = 4096;
constexpr const char* kUntilReload = "until the next reload or restart; put it into the configuration file to keep it";

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

Json done() {
  Json json;
  json["done"] = true;
  return json;
}

flow::Prefix prefix_of(const std::string& text) {
  try {
    return flow::Prefix::parse(text);
  } catch (const std::invalid_argument& error) {
    throw CommandError(error.what(), Exit::usage);
  }
}

flow::Policy policy_named(const std::string& text) {
  try {
    return config::policy_of(text);
  } catch (const std::invalid_argument& error) {
    throw CommandError(error.what(), Exit::usage);
  }
}

bool same(const flow::Prefix& a, const flow::Prefix& b) { return a.length == b.length && a.contains(b.address); }

flow::EceMatch ece_of(const std::optional<std::string>& text) {
  try {
    return text ? flow::EceMatch::parse(*text) : flow::EceMatch{};
  } catch (const std::invalid_argument& error) {
    throw CommandError(error.what(), Exit::usage);
  }
}

/// Removes the rule for exactly this prefix and these vendor features.
bool take_out(flow::PolicyTable& policies, const flow::Prefix& prefix, const flow::EceMatch& ece) {
  return std::erase_if(policies.rules, [&](const auto& rule) { return same(rule.match, prefix) && rule.ece == ece; }) >
         0;
}

Json policies_json(const flow::PolicyTable& policies) {
  Json out;
  out["default"] = name_of(policies.fallback);
  out["rules"] = Json::array();
  for (const auto& rule : policies.rules) {
    Json shown = {{"match", rule.match.to_string()}, {"policy", name_of(rule.policy)}};
    if (rule.ece != flow::EceMatch{}) shown["ece"] = rule.ece.to_string();
    out["rules"].push_back(shown);
  }
  return out;
}

Json change_json(const config::KeyChange& change) {
  Json json;
  json["key"] = change.key;
  json["before"] = change.before;
  json["after"] = change.after;
  json["live"] = change.live;
  return json;
}

/// Carries out a request without arguments, whose answer is the one object that `ask` gives.
template <Json (Commands::*ask)()>
void answer_with(Commands& its, Arguments& arguments, Reply& reply) {
  arguments.must_be_empty();
  Json json = (its.*ask)();
  json["done"] = true;
  reply.line(json);
}

}  // namespace

struct Commands::Command {
  std::string_view name;
  void (*carry_out)(Commands&, Arguments&, Reply&);
};

// The requests. The words for people are in app/ctl/ctl.cpp.
const std::vector<Commands::Command>& Commands::table() {
  static const std::vector<Command> kTable = {
      {"status", answer_with<&Commands::status>},
      {"counters", answer_with<&Commands::counters>},
      {"pairs", answer_with<&Commands::pairs>},
      {"peers", answer_with<&Commands::peers>},
      {"flows", [](Commands& its, Arguments& arguments, Reply& reply) { its.flows(arguments, reply); }},
      {"flow", [](Commands& its, Arguments& arguments, Reply& reply) { its.flow(arguments, reply); }},
      {"policy show", [](Commands& its, Arguments& arguments, Reply& reply) { its.policy_show(arguments, reply); }},
      {"policy set", [](Commands& its, Arguments& arguments, Reply& reply) { its.policy_set(arguments, reply); }},
      {"policy unset", [](Commands& its, Arguments& arguments, Reply& reply) { its.policy_unset(arguments, reply); }},
      {"policy default",
       [](Commands& its, Arguments& arguments, Reply& reply) { its.policy_default(arguments, reply); }},
      {"drain", [](Commands& its, Arguments& arguments, Reply& reply) { its.drain(arguments, reply); }},
      {"resume",
       [](Commands& its, Arguments& arguments, Reply& reply) {
         arguments.must_be_empty();
         its.box_.resume();
         reply.line(done());
       }},
      {"bypass on", [](Commands& its, Arguments& arguments, Reply& reply) { its.bypass(arguments, reply); }},
      {"bypass off",
       [](Commands& its, Arguments& arguments, Reply& reply) {
         arguments.must_be_empty();
         its.box_.end_bypass();
         reply.line(done());
       }},
      {"capture", [](Commands& its, Arguments& arguments, Reply& reply) { its.capture(arguments, reply); }},
      {"capture stop",
       [](Commands& its, Arguments& arguments, Reply& reply) {
         arguments.must_be_empty();
         if (!its.box_.capture().stop()) throw CommandError("no capture is under way");
         reply.line(done());
       }},
      {"config check", [](Commands& its, Arguments& arguments, Reply& reply) { its.config_check(arguments, reply); }},
      {"config show", [](Commands& its, Arguments& arguments, Reply& reply) { its.config_show(arguments, reply); }},
      {"reload", [](Commands& its, Arguments& arguments, Reply& reply) { its.reload(arguments, reply); }},
  };
  return kTable;
}

std::vector<std::string_view> Commands::names() {
  std::vector<std::string_view> out;
  for (const Command& command : table()) out.push_back(command.name);
  return out;
}

void Commands::carry_out(const Json& request, Reply& reply) {
  Arguments arguments(request);
  const auto& commands = table();
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& known) { return known.name == arguments.command(); });
  if (command == commands.end()) {
    constexpr std::size_t kShown = 40;
    throw CommandError(fmt::format("no command \"{}\"; the commands are {}", arguments.command().substr(0, kShown),
                                   fmt::join(names(), ", ")),
                       Exit::usage);
  }
  command->carry_out(*this, arguments, reply);
}

// ---- asking -----------------------------------------------------------------------------------

Json Commands::counters() { return expose::counters_json(box_.snapshot()); }

Json Commands::status() {
  // Before the snapshot, so that a client's sample is older than the next one's.
  const std::lock_guard lock(sample_mutex_);
  Json out = expose::status_json(box_.snapshot_with_connections());
  out["config"] = box_.file();
  const Json& counted = out["counted"];
  const auto now = Clock::now();
  const bool first = last_.counted.is_null();
  const double apart = first ? out["uptime_seconds"].get<double>() : seconds_of(now - last_.at);
  Json rates;
  rates["over_seconds"] = apart;
  for (const auto& [name, value] : counted.items()) {
    const std::uint64_t before = first ? 0 : last_.counted[name].get<std::uint64_t>();
    rates[name] = apart > 0 ? static_cast<double>(value.get<std::uint64_t>() - before) / apart : 0.0;
  }
  last_ = {counted, now};
  out["rates"] = rates;
  return out;
}

Json Commands::pairs() {
  // The first survey is made within a second of the start, unless a worker stands still.
  constexpr auto kPatience = std::chrono::seconds(5);
  const auto end = Clock::now() + kPatience;
  expose::Snapshot its = box_.snapshot();
  while (!its.survey.made && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    its = box_.snapshot();
  }
  if (!its.survey.made)
    throw CommandError("the box has not looked at its connections yet: `ctl status` says whether its workers run",
                       Exit::timed_out);
  Json out = expose::pairs_json(its.survey);
  out["age_seconds"] = in_seconds(its.survey_age);
  out["custody_limit_bytes"] = its.identity.custody_limit_bytes;
  return out;
}

Json Commands::peers() { return expose::peers_json(box_.snapshot()); }

void Commands::flows(Arguments& arguments, Reply& reply) {
  const FlowQuery query = FlowQuery::from(arguments);
  arguments.must_be_empty();
  const auto flows = box_.flows();
  const auto found = query.select(*flows);
  const std::size_t shown = query.limit == 0 ? found.size() : std::min<std::size_t>(query.limit, found.size());
  for (std::size_t i = 0; i < shown; ++i) reply.line({{"flow", flow_json(*found[i])}});
  Json last = done();
  last["shown"] = shown;
  last["matched"] = found.size();
  last["total"] = flows->size();
  reply.line(last);
}

void Commands::flow(Arguments& arguments, Reply& reply) {
  const auto id = arguments.number("id", 0, UINT64_MAX);
  if (!id) throw CommandError("flow: needs id, as shown by `flows`", Exit::usage);
  arguments.must_be_empty();
  Json last = done();
  last["flow"] = flow_json(flow_of(*id));
  reply.line(last);
}

Flow Commands::flow_of(std::uint64_t id) {
  const auto flows = box_.flows();
  const auto found =
      std::find_if(flows->begin(), flows->end(), [&](const Flow& flow) { return flow.state.serial == id; });
  if (found == flows->end())
    throw CommandError(fmt::format("no flow {}: it has ended or never existed (see `flows`)", id));
  return *found;
}

// ---- policy -----------------------------------------------------------------------------------

void Commands::policy_show(Arguments& arguments, Reply& reply) {
  arguments.must_be_empty();
  Json last = done();
  last["policy"] = policies_json(box_.config().engine.policies);
  reply.line(last);
}

void Commands::change_policies(const std::function<void(flow::PolicyTable&)>& change, Reply& reply) {
  const auto [policies, connections] = box_.change_policies(change);
  Json last = done();
  last["connections_changed"] = connections;
  last["policy"] = policies_json(policies);
  last["lasts"] = kUntilReload;
  reply.line(last);
}

void Commands::policy_set(Arguments& arguments, Reply& reply) {
  const flow::Prefix prefix = prefix_of(arguments.required_text("prefix"));
  const flow::Policy policy = policy_named(arguments.required_text("policy"));
  const flow::EceMatch ece = ece_of(arguments.text("ece"));
  arguments.must_be_empty();
  change_policies(
      [&](flow::PolicyTable& policies) {
        take_out(policies, prefix, ece);
        if (policies.rules.size() >= kMostRules)
          throw CommandError(fmt::format(
              "there are already {} rules: no more are accepted, because every new connection is checked against each",
              policies.rules.size()));
        // The first rule that matches decides. What an operator says now must hold, whatever the file says for parts of
        // it.
        policies.rules.insert(policies.rules.begin(), {prefix, policy, ece});
      },
      reply);
}

void Commands::policy_unset(Arguments& arguments, Reply& reply) {
  const flow::Prefix prefix = prefix_of(arguments.required_text("prefix"));
  const flow::EceMatch ece = ece_of(arguments.text("ece"));
  arguments.must_be_empty();
  change_policies(
      [&](flow::PolicyTable& policies) {
        if (!take_out(policies, prefix, ece))
          throw CommandError(fmt::format("no rule for exactly {}{} (see `policy show`)", prefix.to_string(),
                                         ece == flow::EceMatch{} ? "" : " and ECE " + ece.to_string()));
      },
      reply);
}

void Commands::policy_default(Arguments& arguments, Reply& reply) {
  const flow::Policy policy = policy_named(arguments.required_text("policy"));
  arguments.must_be_empty();
  change_policies([policy](flow::PolicyTable& policies) { policies.fallback = policy; }, reply);
}

// ---- drain and bypass -------------------------------------------------------------------------

// Writes the progress now and then. Throws CommandError if the time runs out or somebody else changes the mode.
void Commands::wait_until_empty(std::optional<milliseconds> patience, Reply& reply) {
  constexpr milliseconds kLook{50};
  constexpr milliseconds kTell{500};
  const auto began = Clock::now();
  auto told = Clock::time_point{};
  for (;;) {
    const Custody left = box_.custody();
    const auto now = Clock::now();
    if (left.packets == 0) return;
    if (box_.mode() != State::draining)
      throw CommandError(fmt::format("another command ended the drain: the box is {}", name_of(box_.mode())));
    if (!reply.wanted()) throw ClientGone("interrupted; the box goes on draining");
    if (patience && now - began >= *patience)
      throw CommandError(
          fmt::format("custody still holds {} packets, {} bytes after {:g} s. The box goes on draining: `drain` waits "
                      "again, `resume` ends the drain, `bypass on --now` gives up what is left",
                      left.packets, left.bytes, seconds_of(now - began)),
          Exit::timed_out);
    if (now - told >= kTell) {
      told = now;
      Json json;
      json["progress"] = {
          {"custody_packets", left.packets}, {"custody_bytes", left.bytes}, {"seconds", seconds_of(now - began)}};
      reply.line(json);
    }
    std::this_thread::sleep_for(kLook);
  }
}

namespace {

std::optional<milliseconds> patience_of(Arguments& arguments) {
  constexpr std::uint64_t kLongestMs = 24ull * 3600 * 1000;
  const auto given = arguments.number("timeout_ms", 0, kLongestMs);
  return given ? std::optional(milliseconds(*given)) : std::nullopt;
}

}  // namespace

void Commands::drain(Arguments& arguments, Reply& reply) {
  const auto patience = patience_of(arguments);
  arguments.must_be_empty();
  const auto began = Clock::now();
  box_.drain();
  wait_until_empty(patience, reply);
  Json last = done();
  last["seconds"] = seconds_of(Clock::now() - began);
  reply.line(last);
}

void Commands::bypass(Arguments& arguments, Reply& reply) {
  const bool now = arguments.flag("now");
  const auto patience = patience_of(arguments);
  arguments.must_be_empty();
  if (!now && box_.mode() != State::bypass) {
    box_.drain();
    wait_until_empty(patience, reply);
  }
  const Forgotten forgotten = box_.bypass("bypassed by an operator");
  Json last = done();
  last["connections_forgotten"] = forgotten.connections;
  last["flows_failed"] = forgotten.failed_flows;
  last["failed_bytes"] = forgotten.failed_bytes;
  reply.line(last);
}

// ---- capture ----------------------------------------------------------------------------------

void Commands::capture(Arguments& arguments, Reply& reply) {
  constexpr std::uint64_t kMostPackets = 65536;
  constexpr std::uint64_t kLeastSnap = 64;
  constexpr std::uint64_t kMostSnap = 9216;
  constexpr std::uint64_t kLongestMs = 3600 * 1000;
  CaptureRequest request;
  const auto id = arguments.number("id", 0, UINT64_MAX);
  const auto host = arguments.text("host");
  request.packets = arguments.number("packets", 1, kMostPackets).value_or(request.packets);
  request.snap = static_cast<std::uint32_t>(arguments.number("snaplen", kLeastSnap, kMostSnap).value_or(request.snap));
  if (const auto time = arguments.number("time_ms", 1, kLongestMs)) request.time = milliseconds(*time);
  arguments.must_be_empty();
  if (id.has_value() == host.has_value()) throw CommandError("capture: needs either id or host", Exit::usage);
  if (host) request.filter.host = prefix_of(*host);
  if (id) request.filter.connection = flow_of(*id).state.info;
  box_.capture().run(request, reply);
}

// ---- configuration ----------------------------------------------------------------------------

void Commands::config_show(Arguments& arguments, Reply& reply) {
  arguments.must_be_empty();
  const config::BoxConfig config = box_.config();
  Json last = done();
  last["file"] = box_.file();
  for (const config::BoxKey& key : config::box_keys())
    last["keys"].push_back({{"key", key.name}, {"value", key.show(config)}, {"live", key.live}});
  reply.line(last);
}

// The text, not a path: the box may read files that its client may not.
void Commands::config_check(Arguments& arguments, Reply& reply) {
  const std::string text = arguments.required_text("text");
  const std::string file = arguments.required_text("file");
  arguments.must_be_empty();
  try {
    Json last = done();
    last["changes"] = Json::array();
    for (const config::KeyChange& change : box_.compare(config::read_box(config::Value::parse(text, file))))
      last["changes"].push_back(change_json(change));
    reply.line(last);
  } catch (const config::ConfigError& error) {
    throw CommandError(error.what(), Exit::usage);
  }
}

void Commands::reload(Arguments& arguments, Reply& reply) {
  arguments.must_be_empty();
  try {
    const Reloaded reloaded = box_.reload();
    Json last = done();
    last["file"] = box_.file();
    last["changes"] = Json::array();
    for (const config::KeyChange& change : reloaded.changes) last["changes"].push_back(change_json(change));
    last["connections_changed"] = reloaded.connections;
    reply.line(last);
  } catch (const config::ConfigError& error) {
    throw CommandError(error.what(), Exit::usage);
  }
}

}  // namespace longhaul::app
