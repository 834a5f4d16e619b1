// SPDX-License-Identifier: BSD-3-Clause
// The datagrams between two boxes: docs/peer-protocol.md, sections 3 and 5. Each struct lies directly over their bytes
// (alignment 1, big-endian fields).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "peer/keys.hpp"
#include "wire/big_endian.hpp"

namespace longhaul::peer {

/// Of the handshake's own format. It can only grow at the end.
inline constexpr std::uint8_t kHandshakeVersion = 1;
/// The sessions' versions that this box speaks.
inline constexpr std::uint8_t kLowestVersion = 1;
inline constexpr std::uint8_t kHighestVersion = 1;
/// Bytes of UDP payload.
inline constexpr std::size_t kMostDatagramBytes = 1200;
inline constexpr std::uint16_t kMostWorkers = 64;

enum class Type : std::uint8_t {
  init = 1,
  response = 2,
  confirm = 3,
  refuse = 4,
  keepalive = 16,
  bye = 17,
};
/// Types below are of the handshake.
inline constexpr std::uint8_t kFirstSessionType = 16;
/// Types from here on are what the session is for: it only carries them.
inline constexpr std::uint8_t kFirstCarriedType = 32;
/// Bits of `features`.
inline constexpr std::uint32_t kRepairs = 1;        ///< selective repeat, by one worker
inline constexpr std::uint32_t kWorkersRepair = 2;  ///< selective repeat, by several

/// In such a session, before the body of a carried type.
struct Addressed {
  wire::Be16 to;  ///< a worker of the receiver
};
static_assert(sizeof(Addressed) == 2);
inline constexpr std::uint16_t kToAll = 0xffff;  ///< all of them

/// A message of a carried type: from a worker of one box to one of the other, or to all.
struct Carried {
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  std::uint8_t type = 0;
  Bytes body;
};

struct Header {
  std::uint8_t version;
  std::uint8_t type;
  wire::Be16 worker;    ///< the sender's
  wire::Be32 sequence;  ///< of this worker in this session, from 1; 0 in INIT, RESPONSE and REFUSE
  wire::Be64 cookie;
};
static_assert(sizeof(Header) == 16 && offsetof(Header, cookie) == 8);

struct Init {
  wire::Be64 token;
  std::array<std::uint8_t, 32> nonce;
  wire::Be64 epoch;
  std::uint8_t lowest_version;
  std::uint8_t highest_version;
  wire::Be16 workers;
  wire::Be32 features;
};
static_assert(sizeof(Init) == 56 && offsetof(Init, epoch) == 40);
/// Bytes of an INIT's body with what later versions may append: CONFIRM has room for it.
inline constexpr std::size_t kMostInit = 512;

struct Response {
  std::array<std::uint8_t, 32> nonce;
  wire::Be64 counter;
  wire::Be64 epoch;
  std::uint8_t version;
  std::uint8_t zero;
  wire::Be16 workers;
  wire::Be32 features;
};
static_assert(sizeof(Response) == 56 && offsetof(Response, epoch) == 40);

/// The INIT's body of `init_bytes` follows, and the RESPONSE's.
struct Confirm {
  wire::Be64 key_id;
  wire::Be16 init_bytes;
};
static_assert(sizeof(Confirm) == 10);

struct Refuse {
  std::uint8_t lowest_version;
  std::uint8_t highest_version;
};

struct Keepalive {
  wire::Be64 clock;  ///< the sender's, nanoseconds
  wire::Be64 echo;   ///< the receiver's newest clock, 0: none has come
  wire::Be32 held;   ///< nanoseconds since that came
};
static_assert(sizeof(Keepalive) == 20);

enum class ByeReason : std::uint8_t { ends = 0, peer_removed = 1, key_removed = 2 };
struct Bye {
  ByeReason reason;
};

/// A header and a body; the tag is still missing.
std::vector<std::uint8_t> datagram_of(const Header& header, Bytes body);
/// Appends the tag.
void seal(std::vector<std::uint8_t>& datagram, const Key& key, const Path& path);

/// A view of a received datagram. Only the header's bytes are known to be there.
class Datagram {
 public:
  static constexpr std::size_t kLeastBytes = sizeof(Header) + sizeof(Tag);

  /// False when it is too short or too long to be one.
  bool take(Bytes bytes) {
    if (bytes.size() < kLeastBytes || bytes.size() > kMostDatagramBytes) return false;
    bytes_ = bytes;
    return true;
  }
  const Header& header() const { return *reinterpret_cast<const Header*>(bytes_.data()); }
  bool is(Type type) const { return header().type == static_cast<std::uint8_t>(type); }
  Bytes body() const { return bytes_.subspan(sizeof(Header), bytes_.size() - kLeastBytes); }
  /// Null when the body is shorter. What follows the fields is ignored: later versions may append.
  template <typename Body>
  const Body* body_as() const {
    static_assert(alignof(Body) == 1);
    return body().size() < sizeof(Body) ? nullptr : reinterpret_cast<const Body*>(body().data());
  }
  bool is_authentic(const Key& key, const Path& path) const {
    return same(tag_of(key, path, bytes_.first(bytes_.size() - sizeof(Tag))), bytes_.last(sizeof(Tag)));
  }

 private:
  Bytes bytes_;
};

}  // namespace longhaul::peer
