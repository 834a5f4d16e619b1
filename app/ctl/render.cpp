// SPDX-License-Identifier: BSD-3-Clause
#include "app/ctl/render.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/bytes_text.hpp"
#include "base/port_stats.hpp"

namespace longhaul::app {
namespace {

double number(const Json& json, std::string_view key) { return json.value(key, 0.0); }
std::uint64_t count(const Json& json, std::string_view key) { return json.value(key, std::uint64_t{0}); }

std::string figures(double value) { return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2); }

std::string in_uptime(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 60) return fmt::format("{:.1f} s", seconds);
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
  return whole < 86400 ? clock : fmt::format("{} d {}", whole / 86400, clock);
}

std::string end_of(const Json& flow, const char* side) {
  return fmt::format("{}:{:#x}", flow.value(side, ""), count(flow, (std::string(side) + "_qpn").c_str()));
}

std::string ece_text(const Json& ece) { return fmt::format("{:#x}", count(ece, "vendor_id")); }

// For a column: the vendor whose features RDMA-CM agreed on.
std::string ece_agreed(const Json& flow) {
  const Json ece = flow.value("ece", Json());
  if (ece.is_null()) return "?";
  if (!ece.at("accepted").is_null()) return ece_text(ece.at("accepted"));
  return ece.at("offered").is_null() ? "-" : "refused";
}

// For a column: the cause for which most requests passed plain.
std::string main_cause(const Json& flow) {
  std::string out = "-";
  std::uint64_t most = 0;
  const Json causes = flow.value("not_accelerated", Json::object());
  for (const auto& [cause, requests] : causes.items())
    if (requests.get<std::uint64_t>() > most) {
      most = requests.get<std::uint64_t>();
      out = cause;
    }
  return out;
}

// What came in by port, and what of it the box cannot follow.
std::string roce_text(const Json& roce) {
  std::string out =
      fmt::format("{} frames from hosts, {} from the WAN", count(roce, "host_frames"), count(roce, "wan_frames"));
  std::string inside;
  for (const auto& [what, frames] : roce.at("inside").items())
    if (frames != 0) inside += fmt::format("{}{} in {}", inside.empty() ? "" : ", ", frames.get<std::uint64_t>(), what);
  return out + (inside.empty() ? "" : "; not followed: " + inside);
}

// The estimates next to the configured rate.
std::string link_text(const Json& link) {
  const double configured = number(link, "wan_rate_bps"), pace = number(link, "pace_bps");
  const double estimated = number(link, "estimated_rate_bps"), round_trip = number(link, "least_round_trip_seconds");
  std::string out = configured != 0 ? "wan_rate " + scaled(configured, "bit/s") : "no wan_rate";
  out += estimated != 0 ? ", carries " + scaled(estimated, "bit/s") : ", not full recently";
  out += pace != 0 ? ", custody paced at " + scaled(pace, "bit/s") : ", custody not paced";
  if (round_trip != 0)
    out += fmt::format("; shortest round trip {}, {} queued", in_time(1e9 * round_trip),
                       in_time(1e9 * number(link, "queued_seconds")));
  return out;
}

}  // namespace

std::string scaled(double value, const char* unit) {
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T"};
  std::size_t i = 0;
  for (; value >= 1000 && i + 1 < kPrefixes.size(); ++i) value /= 1000;
  const bool whole = i == 0 && value == std::floor(value);  // there are no 4.00 frames
  return fmt::format("{} {}{}", whole ? fmt::format("{:.0f}", value) : figures(value), kPrefixes[i], unit);
}

std::string in_time(double nanoseconds) {
  if (nanoseconds <= 0) return "-";
  if (nanoseconds < 1e3) return fmt::format("{:g} ns", nanoseconds);
  if (nanoseconds < 1e6) return figures(nanoseconds / 1e3) + " us";
  if (nanoseconds < 1e9) return figures(nanoseconds / 1e6) + " ms";
  return figures(nanoseconds / 1e9) + " s";
}

std::string status_text(const Json& status) {
  const Json& custody = status.at("custody");
  std::string state = status.value("state", "");
  if (state == "draining" && count(custody, "packets") == 0) state += " (custody is empty)";
  const std::size_t workers = status.at("workers").size();
  std::string out = fmt::format("{}: {}, up {}, longhaul {}{}\n", status.value("name", ""), state,
                                in_uptime(number(status, "uptime_seconds")), status.value("version", ""),
                                workers == 1 ? "" : fmt::format(", {} workers", workers));
  for (const Json& port : status.at("ports")) {
    out += fmt::format("  {:<12} link {}", port.value("port", "") + " port", port.value("link", "?"));
    for (const PortFigure& figure : kPortFigures) {
      const std::uint64_t value = count(port, figure.name);
      if (figure.family == PortFamily::frames)
        out += fmt::format(", {} {} frames", figure.label == "receive" ? "in" : "out", value);
      else if (figure.family == PortFamily::errors && value > 0)
        out += fmt::format(", {} {}", figure.name, value);
    }
    out += fmt::format("  [{}]\n", port.value("device", ""));
  }
  out += fmt::format("  {:<12} {} in {} packets, limit {}; {} of it acknowledged but not delivered yet\n", "custody",
                     bytes_text(number(custody, "bytes")), count(custody, "packets"),
                     bytes_text(number(custody, "limit_bytes")), bytes_text(number(status, "unconfirmed_bytes")));
  out += fmt::format("  {:<12} {}\n", "link", link_text(status.at("link")));
  if (const auto peers = status.find("peers"); peers != status.end()) {
    std::string all;
    for (const Json& peer : *peers)
      all += fmt::format("{}{} {}{}", all.empty() ? "" : ", ", peer.value("name", ""), peer.value("state", ""),
                         peer.value("state", "") == "up"
                             ? fmt::format(" ({})", in_time(1e9 * number(peer, "round_trip_seconds")))
                             : "");
    out += fmt::format("  {:<12} {}\n", "peers", all);
  }
  out += fmt::format("  {:<12} {}", "flows", count(status.at("flows"), "total"));
  for (const auto& [phase, flows] : status.at("flows").items())
    if (phase != "total" && flows != 0) out += fmt::format(", {} {}", flows.get<std::uint64_t>(), phase);
  out += '\n';
  out += fmt::format("  {:<12} {}\n", "roce", roce_text(status.at("roce")));
  std::string lost;
  for (const auto& [what, value] : status.at("lost").items())
    if (value.get<std::uint64_t>() > 0) lost += fmt::format(", {} {}", what, value.get<std::uint64_t>());
  out += fmt::format("  {:<12} {}\n", "lost", lost.empty() ? "nothing" : lost.substr(2));
  const Json& rates = status.at("rates");
  out += fmt::format("  {:<12} from hosts {}, {}; from the WAN {}, {}; {}; resends {:.1f}/s (over {})\n", "rates",
                     scaled(number(rates, "frames_host"), "frames/s"), scaled(8 * number(rates, "bytes_host"), "bit/s"),
                     scaled(number(rates, "frames_wan"), "frames/s"), scaled(8 * number(rates, "bytes_wan"), "bit/s"),
                     scaled(number(rates, "pseudo_acks"), "pseudo-ACKs/s"), number(rates, "resends"),
                     in_time(1e9 * number(rates, "over_seconds")));
  return out;
}

std::string flows_text(const std::vector<Json>& flows, const Json& last) {
  std::string out;
  const std::string line = "{:>8}  {:<28} {:<28} {:<11} {:<7} {:>9} {:>9} {:>9} {:>9} {:>9}  {:<8} {}\n";
  if (!flows.empty())
    out += fmt::format(fmt::runtime(line), "ID", "HOST:QPN", "REMOTE:QPN", "STATE", "POLICY", "CUSTODY", "UNCONF",
                       "BYTES", "RTT", "IDLE", "ECE", "PLAIN FOR");
  for (const Json& flow : flows) {
    std::string policy = flow.value("policy", "");
    if (policy != flow.value("next_policy", "")) policy = ">" + flow.value("next_policy", "");
    out += fmt::format(fmt::runtime(line), count(flow, "id"), end_of(flow, "host"), end_of(flow, "remote"),
                       flow.value("state", "") + (flow.value("closing", false) ? "*" : ""), policy,
                       bytes_text(number(flow, "custody_bytes")), bytes_text(number(flow, "unconfirmed_bytes")),
                       bytes_text(number(flow, "taken_bytes")), in_time(number(flow, "round_trip_ns")),
                       in_time(number(flow, "idle_ns")), ece_agreed(flow), main_cause(flow));
  }
  out += fmt::format("{} of {} flows", count(last, "shown"), count(last, "total"));
  if (count(last, "matched") > count(last, "shown"))
    out += fmt::format("; {} match, see more with --limit", count(last, "matched"));
  else if (count(last, "matched") < count(last, "total"))
    out += "; the others do not match";
  return out + '\n';
}

std::string causes_text(const Json& causes, std::string_view indent) {
  std::string out;
  for (const Json& cause : causes)
    out += fmt::format("{}{:>6.1f}%  {:>15}  {}\n", indent, 100 * number(cause, "share"),
                       scaled(number(cause, "per_second"), "requests/s"), cause.value("why", ""));
  return out;
}

std::string pairs_text(const Json& reply) {
  const Json& pairs = reply.at("pairs");
  // IPv6 addresses need more room than IPv4 ones, which leave 80 columns enough for all of it.
  std::size_t host = 4, remote = 6, vlan = 0;
  for (const Json& pair : pairs) {
    host = std::max(host, pair.value("host", "").size());
    remote = std::max(remote, pair.value("remote", "").size());
    if (const std::size_t tags = pair.value("vlan", "").size(); tags > 0) vlan = std::max({vlan, tags + 1, 5ul});
  }
  const auto line = [&](auto&&... rest) {
    return fmt::format("{:<{}} {:<{}} {:<{}}{:>5} {:>7} {:>9} {:>7} {:>11} {:>7}\n", rest...);
  };
  std::string out;
  if (!pairs.empty())
    out += line("HOST", host, "REMOTE", remote, vlan > 0 ? "VLAN" : "", vlan, "CONNS", "PROC", "CUSTODY", "REF/S",
                "TO THE WAN", "NOT ACC");
  for (const Json& pair : pairs) {
    double share = 0;
    for (const Json& cause : pair.at("not_accelerated")) share += number(cause, "share");
    const bool asked = number(pair, "ack_requests_per_second") > 0;
    out +=
        line(pair.value("host", ""), host, pair.value("remote", ""), remote, pair.value("vlan", ""), vlan,
             count(pair, "connections"), fmt::format("{:.1f}%", 100 * number(pair, "processors")),
             bytes_text(number(pair, "custody_bytes")), fmt::format("{:.3g}", number(pair, "refused_per_second")),
             scaled(8 * number(pair, "bytes_per_second"), "bit/s"), asked ? fmt::format("{:.1f}%", 100 * share) : "-");
    out += causes_text(pair.at("not_accelerated"), "    ");
  }
  out += fmt::format("{} shown; pairs of hosts with connections: {}\n", pairs.size(), count(reply, "pairs_seen"));
  if (!pairs.empty())
    out +=
        "PROC: of one worker's time. REF/S: requests that custody had no room for.\n"
        "NOT ACC, and the shares below a pair: of its SENDs and WRITEs with AckReq.\n";
  return out;
}

namespace {

/// What an operator should look at first; empty when there is nothing to say.
std::string peer_advice(const Json& reply, const Json& peer) {
  const Json& dropped = peer.at("dropped_since_down");
  const Json& silent = peer.at("silent_seconds");
  if (!peer.value("next_hop_known", false))
    return "nobody answers when the box asks for the MAC address of the next hop: is its address right, its VLAN, the "
           "gateway?";
  if (peer.contains("refused_with_versions"))
    return fmt::format("it speaks versions {} to {} of the protocol only: upgrade the older of the two boxes",
                       peer["refused_with_versions"][0].get<unsigned>(),
                       peer["refused_with_versions"][1].get<unsigned>());
  if (count(dropped, "unknown_key") > 0)
    return "it uses a key that this box does not have: compare `longhaul key ids FILE` on both";
  if (!peer.value("hears_this_box", true))
    return "its datagrams come, and it says that this box's do not: look at the way there, at routers and firewalls";
  if (count(dropped, "forged") > 0)
    return "its datagrams do not verify: does something between the boxes translate addresses?";
  if (count(reply, "from_unknown_sources") > 0 && silent.is_null())
    return "nothing has ever come from it, but datagrams have come from an address that is no peer's: is its address "
           "right here, and does nothing translate addresses?";
  if (silent.is_null())
    return "nothing has ever come from it: can it be pinged, does it run, has it this box as a peer, and does every "
           "router and firewall between pass the UDP port both ways?";
  return "";
}

/// "3 forged, 1 replayed"; empty when none was.
std::string dropped_text(const Json& dropped) {
  std::string out;
  for (const auto& [reason, datagrams] : dropped.items())
    if (const auto number = datagrams.get<std::uint64_t>(); number > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", number, reason);
  return out;
}

}  // namespace

std::string peers_text(const Json& reply) {
  const Json& peers = reply.at("peers");
  if (peers.empty()) return "this box has no peers: it works alone (see peers in longhaul.yaml(5))\n";
  std::size_t name = 4, address = 7;
  for (const Json& peer : peers) {
    name = std::max(name, peer.value("name", "").size());
    address = std::max(address, peer.value("address", "").size());
  }
  const auto line = [&](auto&&... rest) {
    return fmt::format("{:<{}} {:<{}} {:<10} {:>12} {:>9} {:>9} {:>8}  {}\n", rest...);
  };
  std::string out = fmt::format("this box is {}\n", reply.value("address", ""));
  if (count(reply, "address_conflicts") > 0)
    out += "    another machine on the WAN's segment has said that it has this address, or wants it: one must change\n";
  if (count(reply, "unread") > 0)
    out +=
        fmt::format("    {} frames to this address were dropped unread: somebody floods it\n", count(reply, "unread"));
  out += line("PEER", name, "ADDRESS", address, "STATE", "FOR", "RTT", "LEAST", "RESTARTS", "KEY");
  for (const Json& peer : peers) {
    const std::string state = peer.value("state", "");
    out += line(peer.value("name", ""), name, peer.value("address", ""), address, state,
                in_uptime(number(peer, "state_seconds")), in_time(1e9 * number(peer, "round_trip_seconds")),
                in_time(1e9 * number(peer, "least_round_trip_seconds")), count(peer, "restarts"),
                peer.at("key_id").is_null() ? "-" : peer.value("key_id", ""));
    if (state != "up") {
      out += fmt::format("    {}\n", peer.value("down_because", ""));
      if (const std::string advice = peer_advice(reply, peer); !advice.empty()) out += fmt::format("    {}\n", advice);
    } else {
      out += peer.value("repairs_flows", false) ? "    losses are repaired together with it\n"
                                                : "    losses are repaired alone: the other box has `peers.repair: "
                                                  "false`, or a version that has not what is needed\n";
    }
    if (const std::string dropped = dropped_text(peer.at("dropped")); !dropped.empty())
      out += fmt::format("    dropped: {}\n", dropped);
  }
  return out;
}

namespace {

std::string ece_in_full(const Json& ece) {
  if (ece.is_null()) return "unknown: no RDMA-CM was seen";
  const auto options = [](const Json& one) {
    if (one.is_null()) return std::string("none");
    return fmt::format("vendor {}, options {:#x}", ece_text(one), count(one, "attribute_modifier"));
  };
  return fmt::format("offered: {}; accepted: {}", options(ece.at("offered")), options(ece.at("accepted")));
}

std::string causes_in_full(const Json& causes) {
  std::string out;
  for (const auto& [cause, requests] : causes.items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", requests.get<std::uint64_t>(), cause);
  return out.empty() ? "none" : out;
}

}  // namespace

std::string flow_text(const Json& flow) {
  std::string out;
  for (const auto& [name, value] : flow.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (name.ends_with("_ns"))
      text = in_time(value.get<double>());
    else if (name.ends_with("_qpn"))
      text = fmt::format("{:#x}", value.get<std::uint64_t>());
    else if (name == "ece")
      text = ece_in_full(value);
    else if (name == "not_accelerated")
      text = causes_in_full(value);
    out += fmt::format("  {:<20} {}\n", name.ends_with("_ns") ? name.substr(0, name.size() - 3) : name, text);
  }
  return out;
}

std::string policy_text(const Json& policy) {
  std::string out;
  for (const Json& rule : policy.at("rules"))
    out += fmt::format("  {:<40} {}\n",
                       rule.value("match", "") + (rule.contains("ece") ? " ece " + rule.value("ece", "") : ""),
                       rule.value("policy", ""));
  return out + fmt::format("  {:<40} {}\n", "all others (default)", policy.value("default", ""));
}

std::string progress_text(const Json& progress) {
  return fmt::format("{:.1f} s: {} packets, {} in custody\n", number(progress, "seconds"),
                     count(progress, "custody_packets"), bytes_text(number(progress, "custody_bytes")));
}

std::string changes_text(const Json& changes) {
  std::string out;
  for (const Json& change : changes)
    out +=
        fmt::format("  {}: {} -> {}\n", change.value("key", ""), change.value("before", ""), change.value("after", ""));
  return out;
}

}  // namespace longhaul::app
