// SPDX-License-Identifier: BSD-3-Clause
// Counters: what happened, and the cost of each event at this distance. The meanings of mlx5's counters follow
// docs.nvidia.com/networking ("Understanding mlx5 Linux Counters") and the kernel's
// drivers/infiniband/hw/mlx5/counters.c. The names in rxe and elsewhere are aliases.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/ack_timeout.hpp"
#include "plan/nic/rule.hpp"
#include "plan/nic/text.hpp"

namespace longhaul::plan::nic {
namespace {

enum class Cost {
  none,
  resend,  ///< an RTT, and with go-back-N everything under way
  wait,    ///< an RTT
};

struct Counter {
  Kind kind;
  std::string_view name;
  std::string_view alias;
  Severity severity;
  Cost cost;
  std::string_view meaning;
  std::string_view remedy;
};

constexpr std::string_view kAdaptiveTrial =
    "try mlxreg -d DEVICE --reg_name ROCE_ACCL --set \"roce_adp_retrans_en=0x0\" on both hosts, and give this command "
    "dumps from before and after a run";
constexpr std::string_view kFindLoss =
    "find where frames are lost (switch and line counters, ethtool -S, optical power); set RDMA_SELECTIVE_REPEAT_EN=1 "
    "with mlxconfig, or use a pair of longhaul boxes, which repairs losses without the hosts";

constexpr Counter kCounters[] = {
    {Kind::rdma_statistic, "out_of_sequence", "out_of_seq_request", Severity::fault, Cost::resend,
     "requests arrived here behind a gap: packets were lost or overtaken on the way to this host, and the sender was "
     "told to go back",
     kFindLoss},
    {Kind::rdma_statistic, "packet_seq_err", "rcvd_seq_err", Severity::fault, Cost::resend,
     "NAKs for a gap came back: this host's packets were lost or overtaken, and it went back (by 8322 packets in a "
     "capture of the published 380 km trial)",
     kFindLoss},
    {Kind::rdma_statistic, "implied_nak_seq_err", "", Severity::fault, Cost::resend,
     "an ACK arrived for a request behind an unanswered READ or atomic, whose response was lost", kFindLoss},
    {Kind::rdma_statistic, "local_ack_timeout_err", "", Severity::fault, Cost::resend,
     "a QP's ACK timer ran out: the last packets or their ACK were lost, or the timeout is shorter than the RTT", ""},
    {Kind::rdma_statistic, "rnr_nak_retry_err", "rcvd_rnr_err", Severity::fault, Cost::wait,
     "the far host had no receive buffer posted (RNR NAK); the wait that it asks for adds to the RTT",
     "post more receives at the far host: as many as messages are under way (ib_send_bw: -r)"},
    {Kind::rdma_statistic, "req_transport_retries_exceeded", "retry_exceeded_err", Severity::fault, Cost::none,
     "connections died because their retries ran out",
     "find the loss or outage; use retry count 7 and a longer ACK timeout (perftest: -u 18 or more)"},
    {Kind::rdma_statistic, "req_rnr_retries_exceeded", "retry_rnr_exceeded_err", Severity::fault, Cost::none,
     "connections died because the far host never had a receive buffer",
     "use RNR retry count 7 (no limit); post more receives at the far host"},
    {Kind::rdma_statistic, "rx_icrc_encapsulated", "", Severity::fault, Cost::resend,
     "RoCE packets arrived with a wrong ICRC but a valid FCS: they were altered between the hosts",
     "look for a device that rewrites headers (NAT, a tunnel, a faulty switch) or for memory errors on the way"},
    {Kind::rdma_statistic, "out_of_buffer", "", Severity::advice, Cost::wait,
     "packets dropped here because no receive buffer was posted",
     "post more receives on this host: as many as messages are under way (ib_send_bw: -r)"},
    {Kind::rdma_statistic, "duplicate_request", "", Severity::advice, Cost::none,
     "requests arrived twice: the far sender resent what had arrived, because its timers are shorter than the RTT or "
     "an ACK was lost",
     "set longer ACK timeouts at the sender, and turn its adaptive retransmission off (ROCE_ACCL: "
     "roce_adp_retrans_en=0)"},
    {Kind::rdma_statistic, "roce_adp_retrans", "", Severity::advice, Cost::resend,
     "resends by adaptive retransmission, which uses the NIC's own timers. In the published 380 km trial turning it "
     "off "
     "helped; the "
     "cause is unresolved",
     kAdaptiveTrial},
    {Kind::rdma_statistic, "roce_adp_retrans_to", "", Severity::advice, Cost::resend,
     "timeouts of adaptive retransmission. In the published 380 km trial turning it off helped; the cause is "
     "unresolved",
     kAdaptiveTrial},
    {Kind::rdma_statistic, "roce_slow_restart", "", Severity::advice, Cost::none, "QPs were restarted at a low rate",
     "mlxreg -d DEVICE --reg_name ROCE_ACCL --set \"roce_slow_restart_en=0x0\", and compare"},
    {Kind::rdma_statistic, "roce_slow_restart_cnps", "", Severity::advice, Cost::none,
     "slow restart generated congestion notifications itself, without any congestion on the way",
     "mlxreg -d DEVICE --reg_name ROCE_ACCL --set \"roce_slow_restart_en=0x0\", and compare"},
    {Kind::rdma_statistic, "roce_slow_restart_trans", "", Severity::advice, Cost::none, "QPs entered slow restart",
     "mlxreg -d DEVICE --reg_name ROCE_ACCL --set \"roce_slow_restart_en=0x0\", and compare"},
    {Kind::rdma_statistic, "rp_cnp_handled", "", Severity::advice, Cost::none,
     "congestion notifications slowed this sender. In the published 380 km trial this counter rose although no ACK "
     "carried a "
     "congestion mark (they carried ECT(0)); the cause is unresolved, and turning roce_adp_retrans off helped",
     "compare with the marks that switches count and with np_ecn_marked_roce_packets at the far host; without marks, "
     "try roce_adp_retrans_en=0 and roce_slow_restart_en=0 (mlxreg, ROCE_ACCL)"},
    {Kind::rdma_statistic, "rp_cnp_ignored", "", Severity::advice, Cost::none,
     "congestion notifications arrived and were ignored: congestion control is off for their priority here",
     "set ROCE_CC_PRIO_MASK_P1=255 with mlxconfig where the path is shared"},
    {Kind::rdma_statistic, "np_ecn_marked_roce_packets", "", Severity::advice, Cost::none,
     "packets arrived with a congestion mark: a switch on the way had a long queue",
     "find the switch (its queue and mark counters); pace the senders below the haul's rate (tc, or wan_rate of a "
     "longhaul box)"},
    {Kind::rdma_statistic, "np_cnp_sent", "", Severity::advice, Cost::none,
     "this host told senders to slow down. If np_ecn_marked_roce_packets shows no marked packet, the NIC did so of its "
     "own accord, which is publicly reported and unexplained",
     "compare with np_ecn_marked_roce_packets here and the marks that switches count"},
    {Kind::nic_statistics, "rx_discards_phy", "", Severity::fault, Cost::resend,
     "frames dropped at the port because buffers were full",
     "enable pause or PFC on this hop (ethtool -a, mlnx_qos), or slow the sender down"},
    {Kind::nic_statistics, "tx_discards_phy", "", Severity::fault, Cost::resend,
     "frames dropped at the port instead of sent",
     "compare rx_pause and the per-priority counters of ethtool -S: the neighbour may pause too long"},
    {Kind::nic_statistics, "rx_crc_errors_phy", "", Severity::fault, Cost::resend,
     "frames were damaged on the last link before this port",
     "clean or replace optics and cable of this link (ethtool -m, mlxlink)"},
};

std::string cost(const Counter& counter, const Haul& haul, std::uint64_t count) {
  switch (counter.cost) {
    case Cost::none:
      return {};
    case Cost::wait:
      return fmt::format(" Each costs at least an RTT, {} ({}).", show_time(haul.rtt_ns), name_of(haul.rtt_origin));
    case Cost::resend:
      return fmt::format(
          " Each costs at least an RTT, {} ({}), and with go-back-N up to {:.0f} packets again: at most {} for {} "
          "(calculated).",
          show_time(haul.rtt_ns), name_of(haul.rtt_origin), haul.packets_in_flight(),
          bytes_text(haul.bytes_in_flight() * static_cast<double>(count)), count);
  }
  return {};
}

std::string remedy(const Counter& counter, const Haul& haul) {
  if (!counter.remedy.empty()) return std::string(counter.remedy);
  return fmt::format(
      "set an ACK timeout of {0} or more, 4.096 us x 2^{0} (calculated: twice the RTT; perftest: -u {0}), and find the "
      "loss",
      ack_timeout_code(2 * haul.rtt_ns));
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

void judge_counter(const Counter& counter, const Fact& first, const Fact& last, const Haul& haul,
                   std::vector<Finding>& findings) {
  const std::uint64_t before = number_or(first.value, 0);
  const std::uint64_t now = number_or(last.value, 0);
  const bool twice = &first != &last && now >= before;
  const std::uint64_t count = twice ? now - before : now;
  Finding out;
  out.id = dashed(counter.name);
  out.severity = count > 0 ? counter.severity : Severity::fine;
  out.place = last.place;
  out.subject = last.subject;
  out.name = last.name;
  out.value = last.value;
  if (count == 0) {
    out.message = now == 0 ? std::string("never")
                           : fmt::format("has not increased since line {} of {}", first.place.line, first.place.file);
  } else {
    out.wanted.assign(1, '0');  // gcc 12 warns about = "0"
    const std::string since = twice ? fmt::format("increased by {} since line {} of {} (calculated)", count,
                                                  first.place.line, first.place.file)
                                    : fmt::format("{} since the counters began (read)", count);
    out.message = fmt::format("{}: {}.{}", since, counter.meaning, cost(counter, haul, count));
    out.remedy = remedy(counter, haul);
  }
  findings.push_back(std::move(out));
}

}  // namespace

void judge_counters(const Dumps& dumps, const Haul& haul, std::vector<Finding>& findings) {
  for (const Counter& counter : kCounters) {
    // The first and the last fact of each link and format.
    std::map<std::pair<std::string_view, std::string_view>, std::pair<const Fact*, const Fact*>> seen;
    for (const std::string_view name : {counter.name, counter.alias})
      for (const Fact* fact : name.empty() ? std::vector<const Fact*>{} : dumps.all(counter.kind, name)) {
        if (!number(fact->value)) continue;
        auto& [first, last] = seen.try_emplace({fact->format, fact->subject}, fact, fact).first->second;
        last = fact;
      }
    for (const auto& [of, both] : seen) judge_counter(counter, *both.first, *both.second, haul, findings);
  }
}

}  // namespace longhaul::plan::nic
