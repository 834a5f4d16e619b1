// SPDX-License-Identifier: BSD-3-Clause
#include "plan/timers.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/ack_timeout.hpp"
#include "plan/text.hpp"

namespace longhaul::plan {
namespace {

struct AckTimer {
  std::string_view who;
  unsigned code;  ///< 4.096 us x 2^code
};

// RDMA-CM adds 1 to the packet lifetime of a RoCE path: 16 in newer kernels, 18 in Linux 6.1 and older
// (CMA_IBOE_PACKET_LIFETIME in drivers/infiniband/core/cma.c).
constexpr AckTimer kAckTimers[] = {{"perftest by default", 14},
                                   {"connections of RDMA-CM in newer kernels of Linux", 17},
                                   {"connections of RDMA-CM in Linux 6.1 and older", 19}};

// 2^20 / 2^8 ms: how long Linux waits for an answer to a REQ before it sends it again (CMA_CM_RESPONSE_TIMEOUT in
// cma.c).
constexpr Duration kCmAnswer = milliseconds(4096);

}  // namespace

void warn_of_timers(Duration round_trip, Report& report) {
  const auto warn = [&report](std::string_view timer, Duration time, const std::string& message) {
    report.facts["warnings"].push_back({{"timer", timer}, {"seconds", in_seconds(time)}, {"message", message}});
    report.notes.push_back("Warning: " + message);
  };
  std::string who;
  Duration longest = 0;
  for (const AckTimer& timer : kAckTimers) {
    if (ack_timeout(timer.code) > round_trip) continue;
    who += fmt::format("{}{} ({}: {})", who.empty() ? "" : ", ", timer.who, timer.code,
                       time_text(in_seconds(ack_timeout(timer.code))));
    longest = ack_timeout(timer.code);
  }
  if (!who.empty())
    warn("ack_timeout", longest,
         fmt::format("no ACK is back before the ACK timeout of {}. Their NICs send again what is only under way, and "
                     "after their retries the connection fails. Set {} or more ({}, twice the round trip; perftest: -u "
                     "{}). A pair answers WRITE and SEND in time, but not READ, nor what it does not accelerate.",
                     who, ack_timeout_code(2 * round_trip),
                     time_text(in_seconds(ack_timeout(ack_timeout_code(2 * round_trip)))),
                     ack_timeout_code(2 * round_trip)));
  if (round_trip >= kCmAnswer)
    warn("cm_response", kCmAnswer,
         fmt::format("RDMA-CM of Linux waits {} for the answer to a request before it sends it again: connections are "
                     "made only after needless repetitions, at most 15.",
                     time_text(in_seconds(kCmAnswer))));
}

}  // namespace longhaul::plan
