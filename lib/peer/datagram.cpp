// SPDX-License-Identifier: BSD-3-Clause
#include "peer/datagram.hpp"

namespace longhaul::peer {

std::vector<std::uint8_t> datagram_of(const Header& header, Bytes body) {
  std::vector<std::uint8_t> datagram;
  datagram.reserve(sizeof(Header) + body.size() + sizeof(Tag));
  const Bytes head = bytes_of(header);
  datagram.insert(datagram.end(), head.begin(), head.end());
  datagram.insert(datagram.end(), body.begin(), body.end());
  return datagram;
}

void seal(std::vector<std::uint8_t>& datagram, const Key& key, const Path& path) {
  const Tag tag = tag_of(key, path, datagram);
  datagram.insert(datagram.end(), tag.begin(), tag.end());
}

}  // namespace longhaul::peer
