// SPDX-License-Identifier: BSD-3-Clause
#include "sim/nic_families.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace longhaul::sim {

namespace {

// ---- what the application chooses, and every family does --------------------------------------------------------

constexpr std::string_view kPsnSource =
    "NCCL net_ib.cc and UCX uct_rc_iface_qp_connect: rq_psn = sq_psn = 0; librdmacm and perftest: random";
constexpr std::string_view kTimeoutSource =
    "IBTA vol. 1, 9.7.6.1.3: 4.096 us << code. Codes: perftest 14; NCCL 18, later 20; RDMA-CM's default 18";
constexpr std::string_view kSpreadSource = "IBTA vol. 1, 9.7.6.1.3: a timeout is between one and four times its value";
constexpr std::string_view kRnrSource = "perftest and NCCL min_rnr_timer 12 (0.64 ms); NVMe-oF 0 (655 ms) (?); rxe 10";
constexpr std::string_view kNoSlowStart =
    "a NIC posts at line rate from its first packet on (?); 64 packets are a burst";
constexpr std::string_view kNoWindow = "roce_tx_window_en is 0 by default (NVIDIA, ROCE_ACCL register)";

const Number kBothQpns = number_of(SourcePort::both_qpns);
const Number kOwnQpn = number_of(SourcePort::own_qpn);
const Number kRandom = number_of(SourcePort::random);
const Number kNone = number_of(Congestion::none);
const Number kDcqcn = number_of(Congestion::dcqcn);
const Number kVendorDcqcn = number_of(Congestion::dcqcn_vendor);
const Number kRoundTrip = number_of(Congestion::round_trip);

// Codes 14, 18 and 20.
constexpr Number kTimeout14 = 67'109;
constexpr Number kTimeout18 = 1'073'742;
constexpr Number kTimeout20 = 4'294'967;

// As few AckReq as possible.
constexpr Number kSparse = 255;

std::vector<NicFamily> make() {
  return {
      {"ConnectX-4/5",
       "NVIDIA (Mellanox) mlx5",
       {
           {"port_mbps", {25'000, 100'000}, "product briefs"},
           {"window", {65536}, kNoWindow},
           {"burst", {64}, kNoSlowStart},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0, kSparse}, "at the end of each message, or not (?)"},
           {"ack_each", {256}, "drivers/infiniband/hw/mlx5/qp.c: log_ack_req_freq = MLX5_IB_ACK_REQ_FREQ = 8"},
           {"ack_every", {1, 4}, "ACKs are coalesced (?)"},
           {"ack_delay_us", {4}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100, 300}, kSpreadSource},
           {"first_timeout_us",
            {0, 5'000},
            "adaptive retransmission is an option of RoCE over lossy networks; 5 ms (?)"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {0, 1}, "mlx4 says \"invalid\" with an SRQ only; mlx5 the same (?)"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kBothQpns}, "as rdma_get_udp_sport(), by a remark on linux-rdma (?)"},
           {"selective", {0}, "MLX5_QP_RM_GO_BACK_N"},
           {"places_us", {0, 150}, "ConnectX-5: out-of-order placement, as rdma-core negotiates it; how long (?)"},
           {"congestion", {kNone, kVendorDcqcn}, "NVIDIA, DCQCN CC Parameters: enabled by default; earlier not"},
           {"cnp_us", {4, 50}, "min_time_between_cnps: 4 by default (?); 50 us is the paper's"},
       }},
      {"ConnectX-6/7",
       "NVIDIA mlx5",
       {
           {"port_mbps", {100'000, 200'000, 400'000}, "product briefs"},
           {"window", {65536}, kNoWindow},
           {"burst", {64}, kNoSlowStart},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0, kSparse}, "at the end of each message, or not (?)"},
           {"ack_each", {256}, "drivers/infiniband/hw/mlx5/qp.c: log_ack_req_freq = MLX5_IB_ACK_REQ_FREQ = 8"},
           {"ack_every", {1, 4}, "ACKs are coalesced (?)"},
           {"ack_delay_us", {4}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100, 300}, kSpreadSource},
           {"first_timeout_us",
            {5'000},
            "NVIDIA, Adaptive Retransmission: on by default, the ACK timeout is a cap; 5 ms (?)"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {0, 1}, "mlx4 says \"invalid\" with an SRQ only; mlx5 the same (?)"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kBothQpns}, "as rdma_get_udp_sport(), by a remark on linux-rdma (?)"},
           {"selective", {0, 1}, "selective repeat by ECE (UCX PR 6518), forced or not (ROCE_ACCL register)"},
           {"places_us", {150, 1000}, "out-of-order placement is on by default in rdma-core; how long (?)"},
           {"congestion", {kRoundTrip, kVendorDcqcn}, "NVIDIA: ZTR_RTTCC is the default; DCQCN before"},
           {"cnp_us", {4, 50}, "min_time_between_cnps: 4 by default (?); 50 us is the paper's"},
       }},
      {"E810",
       "Intel irdma",
       {
           {"port_mbps", {25'000, 100'000}, "product brief"},
           {"window", {1024}, "drivers/infiniband/hw/irdma/verbs.h: IRDMA_ROCE_CWND_DEFAULT 0x400; of packets (?)"},
           {"burst", {64}, kNoSlowStart},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0}, "(?)"},
           {"ack_every", {1}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100}, kSpreadSource},
           {"first_timeout_us",
            {0},
            "irdma/verbs.c: rtomin 5, of iWARP's TCP (?): no adaptive retransmission is known"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {1}, "irdma/verbs.h: IRDMA_ROCE_ACKCREDS_DEFAULT 0x1e; 0x1f in later hardware with an SRQ"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kBothQpns}, "irdma/verbs.c: rdma_get_udp_sport()"},
           {"selective", {0}, "go-back-N (?)"},
           {"places_us", {0}, "none known"},
           {"congestion", {kNone, kDcqcn}, "Intel's irdma README: roce_dcqcn_en off by default; dcqcn_T 55, dcqcn_F 5"},
           {"cnp_us", {50}, "a CNP each 50 us at most, measured by others: Lumina, SIGCOMM 2023 (?)"},
       }},
      {"bnxt_re",
       "Broadcom",
       {
           {"port_mbps", {25'000, 100'000, 400'000}, "product briefs: Stratus, Thor, Thor 2"},
           {"window", {65536}, "none known"},
           {"burst", {64}, kNoSlowStart},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0}, "(?)"},
           {"ack_every", {1, 2}, "ACKs are coalesced (?)"},
           {"ack_delay_us", {2}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100}, kSpreadSource},
           {"first_timeout_us", {0}, "none known"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {0}, "(?)"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kRandom}, "the firmware's affair: drivers/infiniband/hw/bnxt_re sets none (?)"},
           {"selective", {0}, "go-back-N (?)"},
           {"places_us", {0}, "none known"},
           {"congestion", {kDcqcn}, "bnxt_re/main.c, bnxt_re_setup_cc(): DCQCN on, with tos_ecn, from P5 on"},
           {"cnp_us", {50}, "(?)"},
       }},
      {"hns",
       "HiSilicon Kunpeng",
       {
           {"port_mbps", {25'000, 100'000, 200'000}, "Kunpeng 920 product brief; 200 Gbit/s: HIP09"},
           {"window", {65536}, "none known"},
           {"burst", {16, 64}, "hns_roce_hw_v2.c: LP_PKTN_INI, bursts of 16 KB or more"},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0}, "(?)"},
           {"ack_each",
            {4, 16, 64},
            "hns_roce_hw_v2.c: ACK_REQ_FREQ >= LP_PKTN_INI = log2(message of 16 or 64 KB / MTU)"},
           {"ack_every", {1}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100}, kSpreadSource},
           {"first_timeout_us", {0}, "none known"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {0}, "(?)"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kBothQpns}, "hns_roce_hw_v2.c: rdma_get_udp_sport()"},
           {"selective", {0}, "go-back-N (?)"},
           {"places_us", {0}, "none known"},
           {"congestion", {kNone, kDcqcn}, "hns_roce_hw_v2.c: DCQCN, LDCP, HC3 or DIP as the firmware says"},
           {"cnp_us", {50}, "hns3's dcqcn parameter cnp_time; its default (?)"},
       }},
      {"mana",
       "Microsoft Azure",
       {
           {"port_mbps", {100'000, 200'000}, "Azure's documentation of MANA"},
           {"window", {65536}, "none known"},
           {"burst", {64}, kNoSlowStart},
           {"pace_us", {0}, kNoSlowStart},
           {"ack_habit", {0}, "(?)"},
           {"ack_every", {1}, "(?)"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0, 100}, kSpreadSource},
           {"first_timeout_us", {0}, "none known"},
           {"rnr_timer", {0, 12}, kRnrSource},
           {"nak_after_rnr", {0}, "only rxe is known to"},
           {"credits", {0}, "(?)"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kBothQpns}, "drivers/infiniband/hw/mana/qp.c: rdma_get_udp_sport()"},
           {"selective", {0}, "(?)"},
           {"places_us", {0}, "none known"},
           {"congestion", {kNone}, "none that the driver shows"},
           {"cnp_us", {0}, "none known"},
       }},
      {"rxe",
       "Soft-RoCE",
       {
           {"port_mbps", {1'000, 10'000}, "software: what a core does"},
           {"window", {128}, "rxe_param.h: RXE_MAX_UNACKED_PSNS"},
           {"burst", {1, 16}, "rxe_req.c: a packet for each turn of its task"},
           {"pace_us", {0}, "rxe_req.c"},
           {"ack_habit", {0}, "rxe_req.c: RXE_END_MASK"},
           {"ack_each", {66}, "rxe_req.c: noack_pkts++ > RXE_MAX_PKT_PER_ACK, which is 64"},
           {"ack_every", {1}, "rxe_resp.c: each request with AckReq"},
           {"ack_timeout_us", {kTimeout14, kTimeout18, kTimeout20}, kTimeoutSource},
           {"timeout_spread", {0}, "rxe_qp.c: jiffies, no spread"},
           {"first_timeout_us", {0}, "rxe_comp.c"},
           {"rnr_timer", {0, 10, 12}, kRnrSource},
           {"nak_after_rnr", {1}, "rxe_resp.c: seen in test/pcaps/send_rnr.pcap"},
           {"credits", {0}, "rxe_resp.c: AETH_ACK_UNLIMITED"},
           {"psn", {0, kAnyPsn}, kPsnSource},
           {"udp_port", {kOwnQpn, kBothQpns}, "rxe_qp.c: hash_32(qp_num, 14); later rxe_verbs.c: rdma_get_udp_sport()"},
           {"selective", {0}, "rxe_comp.c: go-back-N"},
           {"places_us", {0}, "rxe_resp.c"},
           {"congestion", {kNone}, "rxe has none, and ignores CNPs"},
           {"cnp_us", {0}, "rxe makes none"},
       }},
  };
}

const Knob& knob_of(unsigned host, std::string_view name) {
  const std::string full = (host == 0 ? "a." : "b.") + std::string(name);
  const auto found = std::ranges::find_if(knobs(), [&](const Knob& knob) { return knob.name == full; });
  if (found == knobs().end()) throw std::logic_error("a NIC family names no knob: " + full);
  return *found;
}

}  // namespace

const std::vector<NicFamily>& nic_families() {
  static const std::vector<NicFamily> all = make();
  return all;
}

std::string_view nic_name(const HostPlan& host) {
  return host.nic == 0 || host.nic > nic_families().size() ? "-" : nic_families()[host.nic - 1].name;
}

void apply_nic(Case& c, unsigned host, Number family, const std::vector<Number>& chosen) {
  const NicFamily& nic = nic_families().at(family - 1);
  if (chosen.size() != nic.habits.size()) throw std::logic_error("one value for each row of a NIC family");
  (host == 0 ? c.a : c.b).nic = family;
  for (std::size_t row = 0; row < chosen.size(); ++row) knob_of(host, nic.habits[row].knob).in(c) = chosen[row];
}

}  // namespace longhaul::sim
