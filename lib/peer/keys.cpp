// SPDX-License-Identifier: BSD-3-Clause
#include "peer/keys.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <stdexcept>
#include <string_view>

#include "wire/big_endian.hpp"

namespace longhaul::peer {
namespace {

Bytes text_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

Cookie short_hash(const Key& key, std::initializer_list<Bytes> parts) {
  wire::Be64 digest;
  hash_into({reinterpret_cast<std::uint8_t*>(&digest), sizeof(digest)}, key, parts);
  return digest;
}

}  // namespace

std::string id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

Random system_random() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium cannot start: the kernel gives no random numbers");
  return [](std::span<std::uint8_t> bytes) { randombytes_buf(bytes.data(), bytes.size()); };
}

void hash_into(std::span<std::uint8_t> digest, const Key& key, std::initializer_list<Bytes> parts) {
  crypto_generichash_blake2b_state state;
  if (crypto_generichash_blake2b_init(&state, key.data(), key.size(), digest.size()) != 0)
    throw std::logic_error("BLAKE2b has no digest of this length");
  for (const Bytes part : parts) crypto_generichash_blake2b_update(&state, part.data(), part.size());
  crypto_generichash_blake2b_final(&state, digest.data(), digest.size());
}

Key derive(const Key& key, std::initializer_list<Bytes> parts) {
  Key derived;
  hash_into(derived, key, parts);
  return derived;
}

Tag tag_of(const Key& key, const Path& path, Bytes datagram) {
  Tag tag;
  hash_into(tag, key, {path.source.bytes, path.destination.bytes, datagram});
  return tag;
}

bool same(const Tag& a, Bytes b) { return b.size() == a.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

PreSharedKey::PreSharedKey(const Key& secret)
    : secret_(secret),
      hello_(derive(secret, {text_of("longhaul/peer/hello")})),
      id_(short_hash(secret, {text_of("longhaul/peer/id")})) {}

SessionKeys::SessionKeys(const PreSharedKey& shared, Bytes init, Bytes response, const Path& path)
    : secret_(derive(shared.secret(),
                     {text_of("longhaul/peer/session"), init, response, path.source.bytes, path.destination.bytes})) {}

Key SessionKeys::sending(Role sender, std::uint16_t worker) const {
  return derive(secret_, {text_of("longhaul/peer/send"), bytes_of(sender), bytes_of(wire::Be16(worker))});
}

Cookie SessionKeys::cookie_to(Role receiver) const {
  return short_hash(secret_, {text_of("longhaul/peer/cookie"), bytes_of(receiver)});
}

}  // namespace longhaul::peer
