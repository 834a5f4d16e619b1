// SPDX-License-Identifier: BSD-3-Clause
// The responder half of an RC queue pair (IBTA vol. 1, 9.7): executes requests in order and once, writes its memory,
// fills receives, answers. It does not know what was posted; a judge compares.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "sim/early_frames.hpp"
#include "sim/frames.hpp"
#include "sim/work.hpp"
#include "wire/builder.hpp"
#include "wire/psn.hpp"

namespace longhaul::sim {

struct ResponderPlan {
  std::uint32_t starting_psn = 0;
  std::uint32_t path_mtu = 1024;
  std::uint64_t key = 1;               ///< of its READ region
  std::uint32_t receives = 0;          ///< depth of the receive queue; 0: never empty
  Duration refill = 0;                 ///< after this a used receive is posted again
  std::uint8_t rnr_timer = 10;         ///< code, table 45
  bool nak_after_rnr = false;          ///< follows each RNR NAK by a PSN NAK for the same PSN, as rxe does
  std::uint32_t ack_every = 1;         ///< answers every nth request that wants an ACK...
  Duration ack_delay = 0;              ///< ...or after this
  bool credits = false;                ///< says how many receives there are
  std::uint32_t memory = kWriteBytes;  ///< bytes that WRITEs go to
  std::uint32_t resources = 8;         ///< READs and atomics that can be repeated
  std::uint32_t fatal_at = 0;          ///< answers this message (from 1) with `fatal_code`; 0: never
  wire::NakCode fatal_code = wire::NakCode::remote_access_error;
  /// Also answers this message's first packet with a NAK whose code IBTA does not define; 0: none.
  std::uint32_t odd_nak_at = 0;
  std::uint32_t dead_at = 0;  ///< does nothing more from this message on; 0: never
  /// Places requests out of order, and asks for what is missing after this time; 0: it discards them, and asks at once.
  Duration places = 0;
};

/// A message that the responder has executed.
struct Delivered {
  Kind kind = Kind::write;
  std::uint64_t address = 0;
  std::uint32_t data = 0;  ///< immediate or R_Key
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint32_t size = 0;             ///< for a READ, the requested length
  std::vector<std::uint8_t> bytes{};  ///< SEND and WRITE
};

/// Hears of each incoming request and whether it is the one expected next, of each packet and message that the
/// responder accepts, and of requests that no requester may send. The responder refuses these with a fatal NAK, as real
/// ones do.
class ResponderWatch {
 public:
  virtual ~ResponderWatch() = default;
  virtual void on_received(const View& view, bool fits) = 0;
  virtual void on_accepted(std::uint32_t first_psn, std::uint32_t psns, Time now) = 0;
  virtual void on_delivered(const Delivered& message, Time now) = 0;
  virtual void on_malformed(const std::string& what, Time now) = 0;
};

class Responder {
 public:
  Responder(const ResponderPlan& plan, const wire::PacketBuilder& frame, Outlet& outlet, ResponderWatch& watch);

  void receive(const View& view, Time now);
  Time next_deadline() const;
  void poll(Time now);
  /// Nothing more is accepted or answered.
  void kill() { dead_ = true; }
  bool dead() const { return dead_; }
  /// No request with this PSN has been accepted yet.
  bool may_be_next(std::uint32_t psn) const { return wire::psn_le(expected_, psn); }
  /// It has sent a fatal NAK: its QP is in error.
  bool failed() const { return failed_; }

  const std::vector<std::uint8_t>& memory() const { return memory_; }
  std::uint32_t msn() const { return msn_; }
  /// The highest MSN + credits that it has sent; 0 when it gives no credits.
  std::uint32_t credit_limit() const { return credit_limit_; }

 private:
  struct Resource {
    std::uint32_t psn;
    std::uint32_t psns;
    bool atomic;
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint64_t original;
  };

  /// Why a request is refused although its PSN is next, and the NAK's code.
  struct Wrong {
    const char* what;
    wire::NakCode code;
  };

  void accept(const View& view, Time now);
  std::optional<Wrong> wrong_with(const View& view, bool begins) const;
  void repeated(const View& view, Time now);
  bool take_receive(Time now);
  std::uint32_t available(Time now) const;
  void send_ack(std::uint32_t psn, std::uint8_t syndrome, Time now);
  void nak_gap(Time now);
  void place_early(Time now);
  std::uint32_t since_start(std::uint32_t psn) const { return (psn - plan_.starting_psn) & wire::kPsnMask; }
  void acknowledge(Time now);
  void flush_ack(Time now);
  std::uint8_t ack_syndrome(Time now);
  void execute_payload(const View& view, Time now);
  void read(const View& view, std::uint64_t address, std::uint32_t bytes, std::uint32_t psns, Time now);
  void answer_read(std::uint32_t psn, std::uint64_t address, std::uint32_t bytes, Time now);
  void answer_atomic(std::uint32_t psn, std::uint64_t original, Time now);
  void complete(Time now);
  void keep(const Resource& resource);

  ResponderPlan plan_;
  wire::PacketBuilder frame_;
  Outlet& outlet_;
  ResponderWatch& watch_;

  std::uint32_t expected_;
  std::uint32_t msn_ = 0;
  bool nak_sent_ = false;
  EarlyFrames early_;
  bool dead_ = false;
  bool failed_ = false;
  bool odd_nak_said_ = false;
  bool in_message_ = false;
  Delivered current_;
  std::deque<Time> used_receives_;  ///< when each is posted again
  std::deque<Resource> resources_;
  std::uint32_t owed_ = 0;  ///< requests with AckReq not answered yet
  Time ack_at_ = kNever;
  std::uint32_t credit_limit_ = 0;
  bool starved_ = false;  ///< it announced zero credits, so it must announce a new receive
  std::vector<std::uint8_t> memory_;
  std::vector<std::uint64_t> words_;
};

}  // namespace longhaul::sim
