// SPDX-License-Identifier: BSD-3-Clause
#include "replay/nothing_compared.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::replay {
namespace {

struct Facts {
  Facts(const Result& result, const AckComparison& comparison)
      : frames(result.frames),
        cut(result.truncated),
        roce(result.roce),
        rc(result.rc),
        icrc_bad(result.icrc_bad),
        flows(result.counters[Counter::flows_learned]),
        acks(comparison.real_acks),
        acks_forwarded(comparison.real_acks_forwarded) {
    for (const auto& conversation : result.conversations) {
      divided += conversation.divided() ? 1 : 0;
      for (const auto& host : conversation.hosts) {
        ++(host.near ? near_hosts : far_hosts);
        (host.near ? near_requests : far_requests) += host.requests;
      }
    }
  }
  std::uint64_t frames, cut, roce, rc, icrc_bad, flows, acks, acks_forwarded;
  std::uint64_t near_hosts = 0, far_hosts = 0;  ///< ends of conversations
  std::uint64_t divided = 0;                    ///< conversations with one end near
  std::uint64_t near_requests = 0, far_requests = 0;
};

struct Row {
  std::string_view reason;
  bool (*holds)(const Facts&);
  const char* text;
  const char* advice;
};

constexpr const char* kWholeFrames = "capture whole frames (tcpdump -s 0)";
constexpr const char* kOneEnd =
    "give --near the hosts on the box's own side: one of the two hosts of a conversation, not both";

// The first that holds is given: what is at fault with the capture as a whole comes before details.
constexpr Row kRows[] = {
    {"no_frames", [](const Facts& f) { return f.frames == 0; }, "the capture has no frames",
     "capture again, while the hosts exchange RoCE"},
    {"frames_cut", [](const Facts& f) { return f.roce == 0 && f.cut > 0; },
     "no whole RoCE frame: the snap length of the capture cut {cut} of {frames} frames short", kWholeFrames},
    {"no_roce", [](const Facts& f) { return f.roce == 0; }, "no RoCEv2 (UDP port 4791) in {frames} frames",
     "capture where RoCE passes, such as at a switch's mirror port: NICs often hide it from tcpdump on the host"},
    {"near_fits_nobody", [](const Facts& f) { return f.near_hosts == 0; },
     "--near fits none of the hosts that exchange RoCE", kOneEnd},
    {"near_fits_everybody", [](const Facts& f) { return f.far_hosts == 0; },
     "--near fits all of the hosts that exchange RoCE", kOneEnd},
    {"near_divides_nobody", [](const Facts& f) { return f.divided == 0; },
     "--near fits both or neither of the hosts of each conversation", kOneEnd},
    {"frames_cut", [](const Facts& f) { return f.cut > 0; },
     "the snap length of the capture cut {cut} of {frames} frames short, and such frames only pass through",
     kWholeFrames},
    {"icrc_wrong", [](const Facts& f) { return f.icrc_bad == f.roce; },
     "all of {roce} RoCE frames have a wrong ICRC, and such frames only pass through",
     "capture on the wire: a NIC may add the ICRC after the point where the capture was taken"},
    {"no_rc", [](const Facts& f) { return f.rc == 0; },
     "no frame of a reliable connection (RC) in {roce} RoCE frames: the box answers for no other",
     "capture the traffic of a reliable connection"},
    {"near_sends_nothing", [](const Facts& f) { return f.near_requests == 0 && f.far_requests > 0; },
     "the hosts in --near send no SEND or WRITE, which is what the box acknowledges",
     "give --near the hosts that send, see below"},
    {"no_requests", [](const Facts& f) { return f.near_requests == 0; },
     "no SEND or WRITE in the capture: only the responder itself can answer READs and atomics",
     "capture the traffic of an application that uses SEND or WRITE"},
    {"no_connection_learned", [](const Facts& f) { return f.flows == 0; },
     "no connection was learned, neither from RDMA-CM nor from its traffic",
     "start the capture before the connection is set up, and capture both directions"},
    {"no_real_acks", [](const Facts& f) { return f.acks == 0; },
     "no real ACK for the hosts in --near, so there is nothing to compare with", "capture both directions"},
    {"not_confirmed", [](const Facts& f) { return f.acks_forwarded == f.acks; },
     "all of {acks} real ACKs came before the box acknowledges for their flow itself",
     "give --confirm cm, or capture for longer"},
    {"none_met", [](const Facts&) { return true; }, "none of {acks} real ACKs has a pseudo-ACK for its PSN",
     "the list of unmatched ACKs says why, for each"},
};

}  // namespace

std::optional<NothingCompared> nothing_compared(const Result& result, const AckComparison& comparison) {
  if (!comparison.comparing() || comparison.real_acks_matched + comparison.real_acks_mismatched > 0)
    return std::nullopt;
  const Facts facts(result, comparison);
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) { return one.holds(facts); });
  return NothingCompared{
      row->reason,
      fmt::format(fmt::runtime(row->text), fmt::arg("frames", facts.frames), fmt::arg("cut", facts.cut),
                  fmt::arg("roce", facts.roce), fmt::arg("acks", facts.acks)),
      row->advice};
}

}  // namespace longhaul::replay
