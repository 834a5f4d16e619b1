// SPDX-License-Identifier: BSD-3-Clause
// What the near box and the far box of a flow say to each other: docs/peer-protocol.md, sections 9.1 and 10.1. Bodies
// of datagrams, which lib/peer authenticates. Each struct lies directly over their bytes (alignment 1, big-endian
// fields).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/speaker.hpp"
#include "flow/key_index.hpp"
#include "wire/big_endian.hpp"
#include "wire/psn.hpp"

namespace longhaul::relay {

using Bytes = std::span<const std::uint8_t>;

enum class Type : std::uint8_t { bind = 32, unbind, clock, state, answer_clock, answer_state };
constexpr bool is_known(Type type) { return type >= Type::bind && type <= Type::answer_state; }
/// Whom a message is for: this worker alone, or all workers of the box.
enum class To : std::uint8_t { one, all };
/// Bytes of a body: a datagram's 1200 without header, tag and whom it is for.
inline constexpr std::size_t kMostBytes = 1200 - 32 - 2;

/// A flow as both boxes name it.
struct Name {
  wire::Be32 handle;   ///< the near box's number of the connection
  wire::Be32 binding;  ///< one life of it
};

struct BindEntry {
  Name name;
  wire::Be16 outer_vid;
  wire::Be16 inner_vid;
  std::array<std::uint8_t, 16> requester;
  std::array<std::uint8_t, 16> responder;
  wire::Be32 qpn;  ///< the responder's
  wire::Be32 psn;  ///< of the next packet that the near box sends
  wire::Be32 path_mtu;
  wire::Be32 requester_qpn;

  /// `key`: of the flow's requests, as they come in from the WAN.
  static BindEntry of(const Name& name, const flow::KeyIndex::Key& key, std::uint32_t requester_qpn, std::uint32_t psn,
                      std::uint32_t path_mtu);
  flow::KeyIndex::Key key() const;
  /// Of the flow's answers, as the responder's host sends them.
  flow::KeyIndex::Key answers_key() const;
};
static_assert(sizeof(BindEntry) == 60 && alignof(BindEntry) == 1);

struct UnbindEntry {
  Name name;
  std::uint8_t keep;  ///< 0: what is held may be another life's, and is dropped
};
static_assert(sizeof(UnbindEntry) == 9);

/// CLOCK and ANSWER_CLOCK begin with it.
struct ClockHead {
  wire::Be64 clock;
};
/// What custody has of a quiet flow. PSNs.
struct ClockEntry {
  Name name;
  wire::Be32 lowest;
  wire::Be32 end;
  wire::Be32 top;  ///< first one not sent yet
};
static_assert(sizeof(ClockEntry) == 20);

/// Of a flow whose responder is quiet.
struct AnswerClockEntry {
  Name name;
  wire::Be32 top;  ///< PSN: first one after the newest answer
};
static_assert(sizeof(AnswerClockEntry) == 12);

/// STATE and ANSWER_STATE begin with it.
struct StateHead {
  wire::Be64 echo;     ///< the newest clock that has come
  wire::Be32 repeats;  ///< requests, or responses, that had come already
};
inline constexpr std::uint8_t kBound = 1;
inline constexpr std::uint8_t kNotBound = 2;
inline constexpr std::uint8_t kMended = 4;
/// All that is missing from the entry's PSN to the end of its last range is named.
inline constexpr std::uint8_t kComplete = 8;
/// Nothing is missing before the entry's PSN. An entry that goes on where another one ended does not say so.
inline constexpr std::uint8_t kFirst = 16;
/// The ranges follow.
struct StateEntry {
  Name name;
  std::uint8_t flags;
  std::uint8_t ranges;
  wire::Be32 psn;
};
static_assert(sizeof(StateEntry) == 14);

/// PSNs that are missing: [psn, psn + count).
struct Missing {
  std::uint32_t psn = 0;
  std::uint32_t count = 0;
  bool has(std::uint32_t one) const { return ((one - psn) & wire::kPsnMask) < count; }
  bool operator==(const Missing&) const = default;
};

/// Reads fixed entries, one after the other. One that is cut off is not there.
template <typename Entry>
std::span<const Entry> entries_in(Bytes body) {
  static_assert(alignof(Entry) == 1);
  return {reinterpret_cast<const Entry*>(body.data()), body.size() / sizeof(Entry)};
}

/// Takes the head off a body; null when it is too short for one.
template <typename Head>
const Head* take_head(Bytes& body) {
  static_assert(alignof(Head) == 1);
  if (body.size() < sizeof(Head)) return nullptr;
  const auto* head = reinterpret_cast<const Head*>(body.data());
  body = body.subspan(sizeof(Head));
  return head;
}

/// Appends entries to a body until it is full.
class Body {
 public:
  Body() { bytes_.reserve(kMostBytes); }
  template <typename Part>
  void add(const Part& part) {
    static_assert(alignof(Part) == 1);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&part);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(part));
  }
  std::size_t room() const { return kMostBytes - bytes_.size(); }
  Bytes bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  friend class StateWriter;
  std::vector<std::uint8_t> bytes_;
};

/// A head with entries behind it, in as many bodies as they need. `send(Bytes)` gets each body that is full.
template <typename Head>
class HeadedBody {
 public:
  explicit HeadedBody(const Head& head) : head_(head) { body_.add(head_); }
  /// From here on there is room for `bytes` more.
  template <typename Send>
  void make_room(std::size_t bytes, Send&& send) {
    if (body_.room() >= bytes) return;
    send(body_.bytes());
    body_.clear();
    body_.add(head_);
  }
  template <typename Entry, typename Send>
  void add(const Entry& entry, Send&& send) {
    make_room(sizeof(entry), send);
    body_.add(entry);
  }
  /// Sends what is left: at least the head.
  template <typename Send>
  void finish(Send&& send) {
    send(body_.bytes());
  }

 private:
  friend class StateWriter;
  Head head_;
  Body body_;
};

/// Writes the entries of STATE or ANSWER_STATE into as many bodies as they need. `send(Bytes)` gets each body that is
/// full.
class StateWriter {
 public:
  explicit StateWriter(const StateHead& head) : to_(head) {}

  template <typename Send>
  void begin(const Name& name, std::uint8_t flags, std::uint32_t psn, Send&& send) {
    to_.make_room(sizeof(StateEntry) + kMostOfRange, send);
    open(name, flags, psn);
  }
  /// Of the entry that has begun; beyond all before. Nothing need be missing of it.
  template <typename Send>
  void missing(const Missing& range, Send&& send) {
    const StateEntry current = entry();
    if (current.ranges == 255 || to_.body_.room() < kMostOfRange) {
      to_.make_room(sizeof(StateEntry) + kMostOfRange, send);
      open(current.name, current.flags & kComplete, at_);
    }
    append(range);
  }
  /// No entry has begun.
  bool empty() const { return entry_ == 0; }
  /// Sends what is left: at least the head.
  template <typename Send>
  void finish(Send&& send) {
    to_.finish(send);
  }

 private:
  /// Two numbers of 24 bits, 7 bits a byte.
  static constexpr std::size_t kMostOfRange = 8;

  void open(const Name& name, std::uint8_t flags, std::uint32_t psn);
  std::vector<std::uint8_t>& bytes() { return to_.body_.bytes_; }
  StateEntry& entry() { return *reinterpret_cast<StateEntry*>(bytes().data() + entry_); }
  void append(const Missing& range);

  HeadedBody<StateHead> to_;
  std::size_t entry_ = 0;  ///< where it begins; 0: there is none
  std::uint32_t at_ = 0;   ///< PSN after the last range
};

/// Reads the entries of STATE or ANSWER_STATE.
class StateReader {
 public:
  explicit StateReader(Bytes body) : rest_(body) {}
  /// Null when the body is too short for a head.
  const StateHead* head() { return take_head<StateHead>(rest_); }
  /// The next entry, with its ranges; false at the end, or where one is cut off or makes no sense.
  bool next(StateEntry& entry, std::vector<Missing>& ranges);

 private:
  Bytes rest_;
};

}  // namespace longhaul::relay
