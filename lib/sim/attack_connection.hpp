// SPDX-License-Identifier: BSD-3-Clause
// A connection between two hosts of an attacker. Both ends are the attacker's, so neither is bound to what RDMA-CM and
// the RC service ask of it: its manners say what it does. It works over a path that loses nothing: it repeats nothing.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/time.hpp"
#include "sim/frames.hpp"
#include "wire/builder.hpp"
#include "wire/cm.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

class Attacker;

/// What the far end sends for a request that wants an answer.
enum class Answer : std::uint8_t {
  ack,
  nothing,
  rnr_nak,
  psn_nak,    ///< for the request itself
  fatal_nak,  ///< remote access error
  last_ack    ///< the ACK of the last request that it answered as it should, again
};

/// How an attacker's connection behaves.
struct Manners {
  bool announced = true;     ///< by RDMA-CM; otherwise both ends have known each other for ever
  bool replies = true;       ///< the far end answers the REQ
  bool confirms = true;      ///< the near end sends the RTU
  std::uint32_t polite = 0;  ///< the number of requests that are acknowledged as they should be
  Answer then = Answer::ack;
  std::uint8_t ack_timeout = 14;  ///< as the REQ announces it: 4.096 us * 2^n
  std::uint8_t retry_count = 7;
  std::uint8_t path_mtu = 3;  ///< as the REQ announces it: 1 to 5 are 256 to 4096 bytes
  bool own_vlan = false;      ///< its pairs of hosts have the victim's addresses, and VLANs of their own
};

class AttackConnection {
 public:
  AttackConnection(Attacker& attacker, const Manners& manners, unsigned number, unsigned pair);

  /// Sends the REQ, if RDMA-CM is to announce it.
  void connect();
  /// A further life of both QPs: other communication IDs, and PSNs as before.
  void reconnect();
  /// The near end sends a DREQ; with `stray` from an ID that belongs to no exchange.
  void disconnect(std::uint32_t stray = 0);

  /// Requests may be sent.
  bool open() const { return open_; }
  /// Sends a WRITE Only of `bytes` at the next PSN, once it is open().
  void write(std::size_t bytes, bool ack_req = true);
  /// The same at another PSN, which does not count.
  void write_at(std::uint32_t psn, std::size_t bytes, std::uint8_t first_byte = 0);
  /// Sends a READ or atomic at the next PSN, once it is open(). `length`: of the READ, in bytes.
  void read(std::uint32_t length);
  void fetch_add();
  /// An answer of the far end for `psn`.
  void answer(Answer kind, std::uint32_t psn);
  /// An ACK of the far end for everything sent and `ahead` requests more, whether they have arrived or not.
  void acknowledge_ahead(std::uint32_t ahead);
  /// A congestion notification to the near end.
  void notify_congestion();

  std::uint32_t next_psn() const { return next_psn_; }
  /// PSNs used, and of these the ones not acknowledged to the near end.
  std::uint32_t sent() const { return wire::psn_add(next_psn_, -static_cast<std::int64_t>(first_psn())); }
  std::uint32_t outstanding() const { return wire::psn_add(next_psn_, -static_cast<std::int64_t>(acknowledged_)); }
  /// First PSN that the far end expects.
  std::uint32_t expected() const { return expected_; }

  /// The frame is addressed to one of its QPs or to its exchange.
  bool is_for(unsigned host, const View& view) const;
  bool is_for(unsigned host, const wire::CmMessage& message) const;
  void hear(unsigned host, const View& view);
  void hear(unsigned host, const wire::CmMessage& message);

 private:
  std::uint32_t first_psn() const;
  std::uint32_t qpn_of(unsigned host) const;
  std::uint32_t id_of(unsigned host) const;
  wire::PacketBuilder from(unsigned host) const;
  wire::PacketBuilder request() const;
  void send_cm(unsigned host, wire::CmAttribute attribute);
  void use_up(std::uint32_t psns);
  void send_request(const wire::PacketBuilder& builder);
  void send_answer(const wire::PacketBuilder& builder);
  void check_request(const View& view);
  void check_answer(const View& view);
  void hear_request(const View& view);
  void answer_read(const View& view);

  Attacker& attacker_;
  Manners manners_;
  unsigned number_;
  unsigned pair_;
  unsigned life_ = 0;
  bool open_ = false;
  std::uint32_t next_psn_ = first_psn();      ///< of the near end's requests
  std::uint32_t reached_ = first_psn();       ///< PSNs before this were used, in any life
  std::uint32_t acknowledged_ = first_psn();  ///< all before this
  std::uint32_t expected_ = first_psn();
  std::uint32_t msn_ = 0;
  std::uint32_t answered_ = 0;
  std::unordered_set<std::uint64_t> requests_;  ///< fingerprints of all that it sent
  std::unordered_set<std::uint64_t> answers_;
};

}  // namespace longhaul::sim
