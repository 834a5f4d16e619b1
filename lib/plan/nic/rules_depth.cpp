// SPDX-License-Identifier: BSD-3-Clause
// The limits of what one QP may have outstanding: over a long haul they come first.
#include <algorithm>

#include <fmt/format.h>

#include "plan/nic/rule.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

/// The value of the NTT proof of concept (numbers N4 and N5): nothing larger is known to work.
constexpr std::uint64_t kLargestProvenLog = 14;
constexpr std::string_view kLogMaxOutstanding = "LOG_MAX_OUTSTANDING_WQE";
constexpr std::string_view kInitiator = "max_qp_init_rd_atom";
constexpr std::string_view kResponder = "max_qp_rd_atom";

std::uint64_t depth_of_log(std::string_view value) {
  const std::uint64_t log = number_or(value, 0);
  return log < 63 ? 1ull << log : 1ull << 63;
}

std::uint64_t log_needed(const Haul& haul) {
  std::uint64_t log = 0;
  while (log < 63 && (1ull << log) < haul.depth_needed()) ++log;
  return log;
}

std::string share(const Haul& haul, std::uint64_t depth) {
  return fmt::format("{} of the {} of payload that {} carries",
                     show_percent(haul.payload_bps(depth) / haul.payload_cap_bps()), show_rate(haul.payload_cap_bps()),
                     show_rate(static_cast<double>(haul.rate_bps)));
}

/// "4 QPs x 128 x 4 KiB / 3.81 ms = ...; it takes ..."
std::string falls_short(const Haul& haul, std::uint64_t depth) {
  return fmt::format("{}: {}. Filling it takes {}", show_ceiling(haul, depth), share(haul, depth), show_need(haul));
}

std::string enough(const Haul& haul, std::uint64_t depth) {
  return fmt::format("{} outstanding per QP; {} needed (calculated)", depth, haul.depth_needed());
}

/// What else fills the rate when the depth cannot be larger than this.
std::string other_ways(const Haul& haul, std::uint64_t depth) {
  const std::uint64_t all = haul.messages_needed();
  const std::uint64_t qps = all / depth + (all % depth != 0);
  const double bytes = haul.bytes_in_flight() / (static_cast<double>(haul.qps) * static_cast<double>(depth));
  return fmt::format("{} QPs or more with messages of {}, or messages of about {} or more with {} (calculated)", qps,
                     size_text(haul.message_bytes), bytes_text(bytes),
                     haul.qps == 1 ? "1 QP" : fmt::format("{} QPs", haul.qps));
}

// LOG_MAX_OUTSTANDING_WQE

/// The fewest outstanding READs that a device in the dumps allows; 0 if no dump tells.
std::uint64_t read_limit(const Dumps& dumps) {
  std::uint64_t least = 0;
  for (const std::string_view name : {kInitiator, kResponder})
    for (const Fact* fact : dumps.all(Kind::devinfo, name)) {
      const std::uint64_t limit = number_or(fact->value, 0);
      if (limit > 0 && (least == 0 || limit < least)) least = limit;
    }
  return least;
}

/// Whether the queue depth matters: READs have a limit of their own, which is mostly lower.
bool decides(const Case& what, std::uint64_t depth) {
  if (!has_number(what)) return false;
  const std::uint64_t reads = what.haul.operation == Operation::read ? read_limit(what.dumps) : 0;
  return reads == 0 || depth < reads;
}

bool wqe_decides(const Case& what) { return decides(what, depth_of_log(what.fact.value)); }
bool wqe_good(const Case& what) { return what.haul.enough(depth_of_log(what.value)); }

std::string wqe_wanted(const Case& what) {
  const std::uint64_t log = log_needed(what.haul);
  if (log <= kLargestProvenLog) return fmt::format("{} or more (calculated)", log);
  return fmt::format("{}; not enough on its own, {} would be (calculated)", kLargestProvenLog, log);
}

std::string wqe_fine(const Case& what) {
  return fmt::format("2^{} = {}", number_or(what.value, 0), enough(what.haul, depth_of_log(what.value)));
}

std::string wqe_message(const Case& what) {
  const std::uint64_t depth = depth_of_log(what.value);
  return fmt::format(
      "caps every RC QP at 2^{} = {} outstanding work requests, whatever queue depth the application asks for. {}.",
      number_or(what.value, 0), depth, falls_short(what.haul, depth));
}

std::string wqe_remedy(const Case& what) {
  constexpr std::uint64_t kMost = 1ull << kLargestProvenLog;
  std::string out = set_firmware(what, kLogMaxOutstanding, std::to_string(kLargestProvenLog));
  out += fmt::format(
      "  (a published proof of concept used 14); and let the application ask for this depth (perftest: -t {})",
      std::min(what.haul.depth_needed(), kMost));
  if (!what.haul.enough(kMost))
    out += fmt::format(". That is not enough here: it also takes {}, or a pair of longhaul boxes",
                       other_ways(what.haul, kMost));
  return out;
}

// max_qp_wr

bool max_wr_decides(const Case& what) { return decides(what, number_or(what.fact.value, 0)); }
bool max_wr_good(const Case& what) { return what.haul.enough(number_or(what.value, 0)); }

std::string need_wanted(const Case& what) { return fmt::format("{} or more (calculated)", what.haul.depth_needed()); }

std::string max_wr_fine(const Case& what) { return enough(what.haul, number_or(what.value, 0)); }

std::string max_wr_message(const Case& what) {
  return fmt::format("the device gives a QP no deeper queue than {} work requests. {}.", number_or(what.value, 0),
                     falls_short(what.haul, number_or(what.value, 0)));
}

std::string max_wr_remedy(const Case& what) {
  const std::uint64_t depth = number_or(what.value, 0);
  return fmt::format("{}, or a pair of longhaul boxes; the limit is the device's",
                     depth > 0 ? other_ways(what.haul, depth) : "another device");
}

// Outstanding READs. The requester's own limit decides, unless the responder's is smaller.

bool is_read(const Case& what) {
  if (what.haul.operation != Operation::read || !has_number(what)) return false;
  const bool initiator = what.fact.name == kInitiator;
  const Fact* other = what.dumps.of(Kind::devinfo, what.fact.subject, initiator ? kResponder : kInitiator);
  if (other == nullptr) return true;
  const std::uint64_t own = number_or(what.fact.value, 0);
  const std::uint64_t others = number_or(other->value, UINT64_MAX);
  return initiator ? own <= others : own < others;
}

std::string read_message(const Case& what) {
  const std::uint64_t depth = number_or(what.value, 0);
  return fmt::format(
      "a QP has at most {} READs outstanding, whatever queue depth the application asks for; it counts messages, not "
      "packets. {}. A "
      "pseudo-ACK cannot help READ: its data must come from the far end.",
      depth, falls_short(what.haul, depth));
}

std::string read_remedy(const Case& what) {
  const std::uint64_t depth = number_or(what.value, 0);
  return fmt::format("{} (perftest: ib_read_bw -q N -s BYTES -o {}); or have the far side WRITE instead",
                     depth > 0 ? other_ways(what.haul, depth) : "another device", depth);
}

constexpr Rule kDepthRules[] = {
    {"outstanding-wqe", Kind::mlxconfig, kLogMaxOutstanding, Severity::fault, wqe_decides, wqe_good, wqe_wanted,
     wqe_fine, wqe_message, wqe_remedy},
    {"max-qp-wr", Kind::devinfo, "max_qp_wr", Severity::fault, max_wr_decides, max_wr_good, need_wanted, max_wr_fine,
     max_wr_message, max_wr_remedy},
    {"read-outstanding", Kind::devinfo, kInitiator, Severity::fault, is_read, max_wr_good, need_wanted, max_wr_fine,
     read_message, read_remedy},
    {"read-outstanding", Kind::devinfo, kResponder, Severity::fault, is_read, max_wr_good, need_wanted, max_wr_fine,
     read_message, read_remedy},
};

}  // namespace

std::span<const Rule> depth_rules() { return kDepthRules; }

DepthLimit depth_limit(const Dumps& dumps, const Haul& haul) {
  DepthLimit least;
  const auto consider = [&](std::uint64_t depth, std::string_view setter, const Place& place, Origin origin) {
    if (least.depth != 0 && least.depth <= depth) return;
    least = {depth, std::string(setter), place, origin};
  };
  if (haul.asked_depth != 0) consider(haul.asked_depth, "--depth", {}, Origin::given);
  for (const Fact* fact : dumps.all(Kind::mlxconfig, kLogMaxOutstanding))
    if (setting_number(fact->value)) consider(depth_of_log(fact->value), fact->name, fact->place, Origin::read);
  const auto device = [&](std::string_view name) {
    for (const Fact* fact : dumps.all(Kind::devinfo, name))
      if (const auto depth = setting_number(fact->value); depth && *depth > 0)
        consider(*depth, name, fact->place, Origin::read);
  };
  device("max_qp_wr");
  if (haul.operation == Operation::read) {
    device(kInitiator);
    device(kResponder);
  }
  return least;
}

bool depth_is_short(const Dumps& dumps, const Haul& haul) {
  if (haul.operation == Operation::read) return false;  // READs have a limit of their own
  Haul asks_all = haul;
  asks_all.asked_depth = 0;
  const DepthLimit limit = depth_limit(dumps, asks_all);
  return limit.depth != 0 && !haul.enough(limit.depth);
}

}  // namespace longhaul::plan::nic
