// SPDX-License-Identifier: BSD-3-Clause
// Keys of the session between two boxes, and the tags that they make: docs/peer-protocol.md, sections 3 and 4. The
// cryptography is libsodium's BLAKE2b (RFC 7693).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include "wire/frame.hpp"

namespace longhaul::peer {

using Bytes = std::span<const std::uint8_t>;
using Key = std::array<std::uint8_t, 32>;
using Tag = std::array<std::uint8_t, 16>;
/// Of a header, a field or the like, which has no padding.
template <typename T>
Bytes bytes_of(const T& value) {
  static_assert(alignof(T) == 1);
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}

/// 8 bytes that tell which key applies, as a number in network byte order.
using Cookie = std::uint64_t;
/// As ctl and logs show a cookie, a key ID or an epoch: 16 hexadecimal digits.
std::string id_text(std::uint64_t id);

/// Fills the bytes with random numbers that nobody else can know. A testbed has one that repeats itself.
using Random = std::function<void(std::span<std::uint8_t>)>;
/// The kernel's, through libsodium. Throws std::runtime_error when there are none.
Random system_random();

/// Which part a box had in the handshake. The values are in the derivation of keys.
enum class Role : std::uint8_t { initiator = 0, responder = 1 };
constexpr Role other(Role role) { return role == Role::initiator ? Role::responder : Role::initiator; }

/// The addresses of a datagram: every tag covers them.
struct Path {
  wire::IpAddress source;
  wire::IpAddress destination;
  Path reversed() const { return {destination, source}; }
};

/// Keyed BLAKE2b over the parts in a row, with a digest of `digest.size()` bytes, 1 to 64.
void hash_into(std::span<std::uint8_t> digest, const Key& key, std::initializer_list<Bytes> parts);
Key derive(const Key& key, std::initializer_list<Bytes> parts);

/// Of a datagram up to its tag.
Tag tag_of(const Key& key, const Path& path, Bytes datagram);
/// In constant time.
bool same(const Tag& a, Bytes b);

/// What two boxes share.
class PreSharedKey {
 public:
  explicit PreSharedKey(const Key& secret);

  Cookie id() const { return id_; }
  const Key& hello() const { return hello_; }
  const Key& secret() const { return secret_; }
  bool operator==(const PreSharedKey& other) const { return secret_ == other.secret_; }

 private:
  Key secret_;
  Key hello_;
  Cookie id_;
};

/// The keys of one session.
class SessionKeys {
 public:
  /// `initiator_to_responder`: the path of the INIT.
  SessionKeys(const PreSharedKey& shared, Bytes init, Bytes response, const Path& initiator_to_responder);

  /// Of the worker with this number in the box that had this role.
  Key sending(Role sender, std::uint16_t worker) const;
  /// In datagrams to the box that had this role.
  Cookie cookie_to(Role receiver) const;

 private:
  Key secret_;
};

}  // namespace longhaul::peer
