// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cm.hpp"

#include <algorithm>
#include <cstddef>

namespace longhaul::wire {
namespace {

// ---- Layouts: IBTA vol. 1, 13.4.2 (MAD header) and 12.6.5 to 12.6.11 ---------------------------
// Bits within a byte are named from the most significant one, as in the specification's tables.

constexpr std::uint8_t kMadBaseVersion = 1;
constexpr std::uint8_t kCmClassVersion = 2;
constexpr std::uint8_t kMethodSend = 0x03;  // ComMgtSend(), the only method of this class

struct MadHeader {
  std::uint8_t base_version;
  std::uint8_t management_class;
  std::uint8_t class_version;
  std::uint8_t method;
  Be16 status;
  Be16 class_specific;
  Be64 transaction_id;
  Be16 attribute_id;
  Be16 reserved;
  Be32 attribute_modifier;
};
static_assert(sizeof(MadHeader) == 24 && offsetof(MadHeader, transaction_id) == 8 &&
              offsetof(MadHeader, attribute_id) == 16);

/// How every CM message except REQ begins. A REQ has its vendor ID in place of the second field.
struct CommIds {
  Be32 local;
  Be32 remote;
};
static_assert(sizeof(CommIds) == 8);

/// One path of a REQ: 44 bytes.
struct CmPath {
  Be16 local_lid;
  Be16 remote_lid;
  std::uint8_t local_gid[16];
  std::uint8_t remote_gid[16];
  std::uint8_t flow_label_rate[4];  ///< flow label (20 bits), reserved (6), packet rate (6)
  std::uint8_t traffic_class;
  std::uint8_t hop_limit;
  std::uint8_t sl_subnet_local;
  std::uint8_t local_ack_timeout;  ///< timeout (5 bits), reserved (3)
};
static_assert(sizeof(CmPath) == 44 && offsetof(CmPath, local_ack_timeout) == 43);

struct CmReq {
  Be32 local_comm_id;
  std::uint8_t reserved_4;
  Be24 vendor_id;
  Be64 service_id;
  Be64 local_ca_guid;
  Be32 reserved;
  Be32 local_q_key;
  Be24 local_qpn;
  std::uint8_t responder_resources;
  Be24 local_eecn;
  std::uint8_t initiator_depth;
  Be24 remote_eecn;
  std::uint8_t timeout_service_flow;  ///< remote CM response timeout (5 bits), transport service (2), flow control (1)
  Be24 starting_psn;
  std::uint8_t timeout_retry;  ///< local CM response timeout (5 bits), retry count (3)
  Be16 p_key;
  std::uint8_t mtu_rdc_rnr;     ///< path MTU (4 bits), RDC exists (1), RNR retry count (3)
  std::uint8_t cm_retries_srq;  ///< max CM retries (4 bits), SRQ (1), extended transport type (3)
  CmPath primary;
  CmPath alternate;
  std::uint8_t private_data[92];
};
static_assert(sizeof(MadHeader) + sizeof(CmReq) == kMadSize && alignof(CmReq) == 1);
static_assert(offsetof(CmReq, vendor_id) == 5 && offsetof(CmReq, service_id) == 8 && offsetof(CmReq, local_qpn) == 32 &&
              offsetof(CmReq, responder_resources) == 35 && offsetof(CmReq, initiator_depth) == 39 &&
              offsetof(CmReq, timeout_service_flow) == 43 && offsetof(CmReq, starting_psn) == 44 &&
              offsetof(CmReq, timeout_retry) == 47 && offsetof(CmReq, p_key) == 48 &&
              offsetof(CmReq, mtu_rdc_rnr) == 50 && offsetof(CmReq, cm_retries_srq) == 51 &&
              offsetof(CmReq, primary) == 52 && offsetof(CmReq, alternate) == 96 &&
              offsetof(CmReq, private_data) == 140);

struct CmRep {
  CommIds ids;
  Be32 local_q_key;
  Be24 local_qpn;
  std::uint8_t vendor_id_high;
  Be24 local_eecn;
  std::uint8_t vendor_id_middle;
  Be24 starting_psn;
  std::uint8_t vendor_id_low;
  std::uint8_t responder_resources;
  std::uint8_t initiator_depth;
  std::uint8_t delay_failover_flow;  ///< target ACK delay (5 bits), failover accepted (2), flow control (1)
  std::uint8_t rnr_srq;              ///< RNR retry count (3 bits), SRQ (1), reserved (4)
  Be64 local_ca_guid;
  std::uint8_t private_data[196];
};
static_assert(sizeof(MadHeader) + sizeof(CmRep) == kMadSize && alignof(CmRep) == 1);
static_assert(offsetof(CmRep, local_qpn) == 12 && offsetof(CmRep, vendor_id_high) == 15 &&
              offsetof(CmRep, vendor_id_middle) == 19 && offsetof(CmRep, starting_psn) == 20 &&
              offsetof(CmRep, vendor_id_low) == 23 && offsetof(CmRep, responder_resources) == 24 &&
              offsetof(CmRep, initiator_depth) == 25 && offsetof(CmRep, delay_failover_flow) == 26 &&
              offsetof(CmRep, rnr_srq) == 27 && offsetof(CmRep, private_data) == 36);

struct CmRej {
  CommIds ids;
  std::uint8_t message_rejected;
  std::uint8_t info_length;
  Be16 reason;
  std::uint8_t additional_info[72];
  std::uint8_t private_data[148];
};
static_assert(sizeof(MadHeader) + sizeof(CmRej) == kMadSize && offsetof(CmRej, reason) == 10);

struct CmDreq {
  CommIds ids;
  Be24 remote_qpn;
  std::uint8_t reserved;
  std::uint8_t private_data[220];
};
static_assert(sizeof(MadHeader) + sizeof(CmDreq) == kMadSize && offsetof(CmDreq, remote_qpn) == 8);

/// `width` bits of a byte that begin `first` bits after its most significant one.
struct BitField {
  unsigned first;
  unsigned width;

  constexpr unsigned shift() const noexcept { return 8 - first - width; }
  constexpr std::uint8_t get(std::uint8_t byte) const noexcept {
    return static_cast<std::uint8_t>((byte >> shift()) & ((1U << width) - 1));
  }
  constexpr std::uint8_t put(unsigned value) const noexcept {
    return static_cast<std::uint8_t>((value & ((1U << width) - 1)) << shift());
  }
};

constexpr BitField kReqTransportService{5, 2};
constexpr BitField kReqFlowControl{7, 1};
constexpr BitField kReqRetryCount{5, 3};
constexpr BitField kReqPathMtu{0, 4};
constexpr BitField kReqRnrRetryCount{5, 3};
constexpr BitField kReqMaxCmRetries{0, 4};
constexpr BitField kPathLocalAckTimeout{0, 5};
constexpr BitField kRepFlowControl{7, 1};
constexpr BitField kRepRnrRetryCount{0, 3};

constexpr std::uint8_t kServiceReliableConnected = 0;
constexpr std::uint8_t kServiceUnreliableConnected = 1;

template <typename Layout>
const Layout& body(std::span<const std::uint8_t> mad) noexcept {
  static_assert(alignof(Layout) == 1 && sizeof(MadHeader) + sizeof(Layout) <= kMadSize);
  return *reinterpret_cast<const Layout*>(mad.data() + sizeof(MadHeader));
}

template <typename Layout>
Layout& body(std::span<std::uint8_t, kMadSize> mad) noexcept {
  return *reinterpret_cast<Layout*>(mad.data() + sizeof(MadHeader));
}

void read(const CmReq& req, CmMessage& message) noexcept {
  message.remote_comm_id = 0;
  message.ece.vendor_id = req.vendor_id;
  message.local_qpn = req.local_qpn;
  message.starting_psn = req.starting_psn;
  message.responder_resources = req.responder_resources;
  message.initiator_depth = req.initiator_depth;
  message.rnr_retry_count = kReqRnrRetryCount.get(req.mtu_rdc_rnr);
  message.end_to_end_flow_control = kReqFlowControl.get(req.timeout_service_flow) != 0;
  message.reliable_connected = kReqTransportService.get(req.timeout_service_flow) == kServiceReliableConnected;
  message.path_mtu = kReqPathMtu.get(req.mtu_rdc_rnr);
  message.retry_count = kReqRetryCount.get(req.timeout_retry);
  message.local_ack_timeout = kPathLocalAckTimeout.get(req.primary.local_ack_timeout);
  message.max_cm_retries = kReqMaxCmRetries.get(req.cm_retries_srq);
  message.p_key = req.p_key;
  message.service_id = req.service_id;
}

void read(const CmRep& rep, CmMessage& message) noexcept {
  message.ece.vendor_id =
      std::uint32_t{rep.vendor_id_high} << 16 | std::uint32_t{rep.vendor_id_middle} << 8 | rep.vendor_id_low;
  message.local_qpn = rep.local_qpn;
  message.starting_psn = rep.starting_psn;
  message.responder_resources = rep.responder_resources;
  message.initiator_depth = rep.initiator_depth;
  message.rnr_retry_count = kRepRnrRetryCount.get(rep.rnr_srq);
  message.end_to_end_flow_control = kRepFlowControl.get(rep.delay_failover_flow) != 0;
}

void fill(const CmMessage& message, CmReq& req) noexcept {
  const auto service = message.reliable_connected ? kServiceReliableConnected : kServiceUnreliableConnected;
  req.reserved_4 = 0;
  req.vendor_id = message.ece.vendor_id;
  req.service_id = message.service_id;
  req.local_qpn = message.local_qpn;
  req.responder_resources = message.responder_resources;
  req.initiator_depth = message.initiator_depth;
  req.timeout_service_flow = static_cast<std::uint8_t>(kReqTransportService.put(service) |
                                                       kReqFlowControl.put(message.end_to_end_flow_control ? 1 : 0));
  req.starting_psn = message.starting_psn;
  req.timeout_retry = kReqRetryCount.put(message.retry_count);
  req.p_key = message.p_key;
  req.mtu_rdc_rnr =
      static_cast<std::uint8_t>(kReqPathMtu.put(message.path_mtu) | kReqRnrRetryCount.put(message.rnr_retry_count));
  req.cm_retries_srq = kReqMaxCmRetries.put(message.max_cm_retries);
  req.primary.local_ack_timeout = kPathLocalAckTimeout.put(message.local_ack_timeout);
}

void fill(const CmMessage& message, CmRep& rep) noexcept {
  rep.vendor_id_high = static_cast<std::uint8_t>(message.ece.vendor_id >> 16);
  rep.vendor_id_middle = static_cast<std::uint8_t>(message.ece.vendor_id >> 8);
  rep.vendor_id_low = static_cast<std::uint8_t>(message.ece.vendor_id);
  rep.local_qpn = message.local_qpn;
  rep.starting_psn = message.starting_psn;
  rep.responder_resources = message.responder_resources;
  rep.initiator_depth = message.initiator_depth;
  rep.delay_failover_flow = kRepFlowControl.put(message.end_to_end_flow_control ? 1 : 0);
  rep.rnr_srq = kRepRnrRetryCount.put(message.rnr_retry_count);
}

}  // namespace

std::uint32_t path_mtu_bytes(std::uint8_t code) noexcept { return code >= 1 && code <= 5 ? 256U << (code - 1) : 0; }

std::optional<CmMessage> parse_cm(const Frame& frame) noexcept {
  if (frame.opcode == nullptr || frame.opcode->code != kUdSendOnly || frame.destination_qpn() != kGsiQpn)
    return std::nullopt;
  const auto mad = frame.payload();
  if (mad.size() < kMadSize) return std::nullopt;
  const auto& header = *reinterpret_cast<const MadHeader*>(mad.data());
  if (header.base_version != kMadBaseVersion || header.management_class != kMadClassCm ||
      header.class_version != kCmClassVersion)
    return std::nullopt;

  CmMessage message;
  message.attribute = static_cast<CmAttribute>(static_cast<std::uint16_t>(header.attribute_id));
  message.transaction_id = header.transaction_id;
  message.local_comm_id = body<CommIds>(mad).local;
  message.remote_comm_id = body<CommIds>(mad).remote;
  switch (message.attribute) {
    case CmAttribute::req:
      read(body<CmReq>(mad), message);
      message.ece.attribute_modifier = header.attribute_modifier;
      return message;
    case CmAttribute::rep:
      read(body<CmRep>(mad), message);
      message.ece.attribute_modifier = header.attribute_modifier;
      return message;
    case CmAttribute::rej:
      message.reject_reason = body<CmRej>(mad).reason;
      return message;
    case CmAttribute::dreq:
      message.remote_qpn = body<CmDreq>(mad).remote_qpn;
      return message;
    case CmAttribute::mra:
    case CmAttribute::rtu:
    case CmAttribute::drep:
      return message;
  }
  return std::nullopt;  // LAP, APR, SIDR and others
}

void write_cm(const CmMessage& message, std::span<std::uint8_t, kMadSize> mad) noexcept {
  std::fill(mad.begin(), mad.end(), std::uint8_t{0});
  auto& header = *reinterpret_cast<MadHeader*>(mad.data());
  header.base_version = kMadBaseVersion;
  header.management_class = kMadClassCm;
  header.class_version = kCmClassVersion;
  header.method = kMethodSend;
  header.transaction_id = message.transaction_id;
  header.attribute_id = static_cast<std::uint16_t>(message.attribute);
  header.attribute_modifier = message.ece.attribute_modifier;
  body<CommIds>(mad).local = message.local_comm_id;
  body<CommIds>(mad).remote = message.remote_comm_id;
  switch (message.attribute) {
    case CmAttribute::req:
      fill(message, body<CmReq>(mad));
      break;
    case CmAttribute::rep:
      fill(message, body<CmRep>(mad));
      break;
    case CmAttribute::rej:
      body<CmRej>(mad).reason = message.reject_reason;
      break;
    case CmAttribute::dreq:
      body<CmDreq>(mad).remote_qpn = message.remote_qpn;
      break;
    case CmAttribute::mra:
    case CmAttribute::rtu:
    case CmAttribute::drep:
      break;
  }
}

}  // namespace longhaul::wire
