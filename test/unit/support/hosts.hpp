// SPDX-License-Identifier: BSD-3-Clause
// Frames as two hosts would send them: one connection, its RDMA-CM messages, requests and answers.
#pragma once

#include <string>

#include "base/side.hpp"
#include "flow/connection.hpp"
#include "seen.hpp"
#include "wire/cm.hpp"

namespace longhaul::test {

/// A connection between host A (behind the host port) and host B (beyond the WAN).
struct Pair {
  std::string a_ip = "10.0.0.1";
  std::string b_ip = "10.0.0.2";
  std::uint32_t a_qpn = 0x11;
  std::uint32_t b_qpn = 0x22;
  std::uint32_t a_psn = 100;      ///< A's first request
  std::uint32_t b_psn = 500;      ///< B's first request
  std::uint16_t vlan = 0;         ///< 0: no tag
  std::uint16_t a_port = 0xc000;  ///< UDP source port of A's frames
  std::uint16_t b_port = 0xc000;
  std::uint8_t path_mtu = 3;  ///< 1024 bytes
  std::uint8_t retry_count = 7;
  std::uint8_t ack_timeout = 14;  ///< 67 ms
  std::uint32_t a_comm = 0xa1;
  std::uint32_t b_comm = 0xb1;
  std::uint64_t transaction = 0x77;
  Side active = Side::host;  ///< the end that sends the REQ
  wire::Ece offered = {};    ///< by the REQ
  wire::Ece accepted = {};   ///< by the REP

  // RDMA-CM. `from` is the sender's side if both may send the message.
  Bytes req() const;
  Bytes rep() const;
  Bytes rtu() const;
  Bytes mra(Side from) const;
  Bytes rej(Side from) const;
  Bytes dreq(Side from) const;
  Bytes drep(Side from) const;

  // Requests of A. AckReq and payload come last: `write(100, {.ack_req = false})`.
  struct Extra {
    bool ack_req = true;
    std::size_t size = 64;
  };
  Bytes request(const std::string& opcode, std::uint32_t psn, Extra extra) const;
  Bytes request(const std::string& opcode, std::uint32_t psn) const { return request(opcode, psn, Extra{}); }
  Bytes write(std::uint32_t psn) const { return request("write_only", psn); }
  Bytes write(std::uint32_t psn, Extra extra) const { return request("write_only", psn, extra); }
  /// `count` writes from `psn` on.
  std::vector<Bytes> writes(std::uint32_t psn, std::uint32_t count, Extra extra) const;
  std::vector<Bytes> writes(std::uint32_t psn, std::uint32_t count) const { return writes(psn, count, Extra{}); }
  /// write(psn) again, with what may change on the network: rxe counts the IPv4 identification up, a NIC may change the
  /// UDP source port, a switch marks ECN, and FECN is set.
  Bytes write_again(std::uint32_t psn) const;
  Bytes silent_write(std::uint32_t psn) const { return request("write_only", psn, Extra{false, 64}); }
  Bytes read(std::uint32_t psn, std::uint32_t bytes = 64) const;
  Bytes atomic(std::uint32_t psn) const { return request("fetch_add", psn, Extra{true, 0}); }

  // Answers of B to A.
  Bytes ack(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = 0x1f) const;
  Bytes nak(std::uint32_t psn, std::uint32_t msn, std::uint8_t code = 0) const;
  Bytes rnr(std::uint32_t psn, std::uint32_t msn, std::uint8_t timer) const;
  Bytes answer(const std::string& opcode, std::uint32_t psn, std::uint32_t msn, std::size_t size = 64) const;
  Bytes cnp() const;

  // The other direction: B's requests, A's answers.
  Bytes b_write(std::uint32_t psn) const;
  Bytes a_ack(std::uint32_t psn, std::uint32_t msn) const;
};

/// The nth connection between the same two hosts.
Pair pair_number(std::uint32_t n);

/// `pair`, with the UDP source ports that Linux derives from both QPNs.
Pair with_derived_ports(Pair pair);

/// The connection as a box knows it.
flow::ConnectionInfo info_of(const Pair& pair);

/// The same frame with one bit of its payload or ICRC flipped.
Bytes damaged(Bytes frame);

}  // namespace longhaul::test
