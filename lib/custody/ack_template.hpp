// SPDX-License-Identifier: BSD-3-Clause
// Makes the ACKs, NAKs and CNPs that a responder would have sent (design rule 4): the headers are copied from the
// responder's own answers, or, before the first answer, from a request with the ends exchanged.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "custody/answer_kind.hpp"
#include "custody/buffers.hpp"
#include "wire/frame.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace longhaul::custody {

class AckTemplate {
 public:
  /// Ethernet with two VLAN tags, IPv4 with options or IPv6, UDP, BTH, AETH, ICRC.
  static constexpr std::size_t kMaxBytes = 14 + 8 + 60 + 8 + 12 + 4 + 4;
  static_assert(14 + 20 + 8 + 12 + 4 + 4 >= 60, "never shorter than Ethernet's least frame, FCS not counted");

  bool empty() const { return size_ == 0; }
  /// What it was learned from. Later ones tell more: the reserved bits of an ACK are only in an ACK.
  enum class Source : std::uint8_t { request, response, acknowledge };
  /// Learned already from as good a source as `source`, with the same Ethernet addresses and EtherType as `answer`: a
  /// router may have changed, or a switch adds a tag now.
  [[gnu::always_inline]] bool resembles(const std::uint8_t* answer, Source source) const {
    // Fourteen bytes, in two words that overlap. memcmp() would be a call.
    const auto differ = [this, answer](std::size_t at) {
      std::uint64_t own = 0;
      std::uint64_t its = 0;
      std::memcpy(&own, bytes_.data() + at, sizeof(own));
      std::memcpy(&its, answer + at, sizeof(its));
      return own ^ its;
    };
    constexpr std::size_t kSecond = sizeof(wire::EthernetHeader) - sizeof(std::uint64_t);
    return source_ >= source && (differ(0) | differ(kSecond)) == 0;
  }

  /// Learns from any answer of the responder to QP `requester_qpn`.
  void learn_from_answer(const wire::Frame& answer);
  static Source source_of(const wire::Frame& answer) {
    return is_acknowledge(answer) ? Source::acknowledge : Source::response;
  }
  /// Learns from a request: addresses exchanged, `requester_qpn` as destination.
  void learn_from_request(const wire::Frame& request, std::uint32_t requester_qpn);

  /// Buffers must have room for this many bytes.
  static constexpr std::size_t kRoom = 128;
  /// A frame in a buffer of `buffers`, or null when there is none.
  rte_mbuf* make(BufferStash& buffers, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome) const;

  /// A congestion notification, or null when there is no buffer: as NICs send them, with this DSCP and ECT(0).
  rte_mbuf* make_cnp(BufferStash& buffers, std::uint8_t dscp) const;

  std::uint16_t p_key() const;
  std::uint32_t destination_qpn() const;

 private:
  void take_headers(const wire::Frame& frame);
  void leave_out_priority_tags();
  void finish(Source source);
  void set_ip_and_udp(std::uint8_t* bytes, std::size_t size, std::uint8_t traffic_class) const;

  std::uint32_t icrc_before_psn_ = 0;  ///< the ICRC of the bytes that are the same in each ACK
  std::uint32_t before_psn_ = 0;       ///< the byte before the PSN, as the word's highest: reserved bits
  std::uint8_t size_ = 0;
  std::uint8_t ip_offset_ = 0;
  std::uint8_t udp_offset_ = 0;
  std::uint8_t bth_offset_ = 0;
  bool ipv6_ = false;
  Source source_ = Source::request;
  // Copied in whole blocks.
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kBlocks = kRoom / kBlock;
  static_assert(kMaxBytes <= kBlock * kBlocks);
  std::array<std::uint8_t, kBlock * kBlocks> bytes_{};
};

}  // namespace longhaul::custody
