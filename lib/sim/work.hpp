// SPDX-License-Identifier: BSD-3-Clause
// The work that one requester posts: its messages, their positions in the PSNs, and every byte as a function of a key.
// Requester, responder's judge and planner share it. Positions count PSNs from the starting PSN, so that their users
// need no circular arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace longhaul::sim {

enum class Kind : std::uint8_t { send, send_imm, send_inv, write, write_imm, read, fetch_add, cmp_swap, unknown };

/// Opcode of the RC packets that no table knows ("unknown" messages: one packet, acknowledged like a WRITE).
inline constexpr std::uint8_t kUnknownOpcode = 0x1e;

struct Message {
  Kind kind = Kind::write;
  std::uint32_t number = 0;  ///< from 0; the message completes with MSN number + 1
  std::uint32_t begin = 0;   ///< first position
  std::uint32_t end = 0;     ///< after the last position; a READ takes the positions of its responses
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;   ///< in the responder's memory
  std::uint32_t data = 0;      ///< immediate, or R_Key to invalidate
  std::uint64_t operand = 0;   ///< add, or swap
  std::uint64_t compare = 0;   ///< CMP_SWAP
  std::uint64_t original = 0;  ///< what the atomic must return

  bool wants_response() const { return kind == Kind::read || kind == Kind::fetch_add || kind == Kind::cmp_swap; }
  bool atomic() const { return kind == Kind::fetch_add || kind == Kind::cmp_swap; }
  bool writes() const { return kind == Kind::write || kind == Kind::write_imm; }
  bool sends() const { return kind == Kind::send || kind == Kind::send_imm || kind == Kind::send_inv; }
  /// It uses up a receive of the responder.
  bool needs_receive() const { return sends() || kind == Kind::write_imm; }
};

/// Which kinds of messages, as weights.
enum class Mix : std::uint8_t {
  writes,
  sends,
  common,
  reads,
  atomics,
  everything,
  // Of one kind, for measurements.
  write_only,
  send_only,
  read_only
};

struct WorkPlan {
  std::uint64_t key = 1;
  std::uint64_t first_key = 0;  ///< of the first message; 0: `key`
  std::uint32_t messages = 0;
  std::uint32_t max_bytes = 1;
  std::uint32_t path_mtu = 1024;
  std::uint32_t starting_psn = 0;
  Mix mix = Mix::common;
  bool uniform = false;       ///< each message has max_bytes
  std::uint32_t warm_up = 0;  ///< this many small SENDs come first

  bool operator==(const WorkPlan&) const = default;
};

/// The responder's memory: WRITEs go to the first part, atomics to the words after it, READs read a third part, which
/// never changes. Each part is as large as given here, or as one message if that is larger.
inline constexpr std::uint64_t kWriteRegion = 0x10000;
inline constexpr std::uint32_t kWriteBytes = 32768;
inline constexpr std::uint64_t kAtomicRegion = 0x1'0000'0000;
inline constexpr std::uint32_t kAtomicWords = 4;
inline constexpr std::uint64_t kReadRegion = 0x2'0000'0000;
inline constexpr std::uint32_t kReadBytes = 65536;
inline constexpr std::uint32_t kRKey = 0x77;

class Work {
 public:
  explicit Work(const WorkPlan& plan);

  const std::vector<Message>& messages() const { return messages_; }
  const WorkPlan& plan() const { return plan_; }
  std::uint32_t write_bytes() const { return std::max(kWriteBytes, plan_.max_bytes); }
  std::uint32_t positions() const { return messages_.empty() ? 0 : messages_.back().end; }

  std::uint32_t psn_at(std::uint32_t position) const;
  /// Signed: before the starting PSN it is negative.
  std::int32_t position_of(std::uint32_t psn) const;
  /// The message at `position`, which must be less than positions().
  const Message& at(std::uint32_t position) const;
  /// Messages that end at or before `position`: the MSN of an ACK for position - 1.
  std::uint32_t completed_before(std::uint32_t position) const;
  /// Receives that messages which end at or before `position` have used up.
  std::uint32_t receives_before(std::uint32_t position) const;

  /// Bytes [offset, offset + out.size()) of what a SEND or WRITE carries.
  void contents(const Message& message, std::uint32_t offset, std::span<std::uint8_t> out) const;

 private:
  WorkPlan plan_;
  std::vector<Message> messages_;
};

/// The contents of the READ region at the responder that serves the requester with this key.
void read_region(std::uint64_t key, std::uint64_t address, std::span<std::uint8_t> out);

}  // namespace longhaul::sim
