// SPDX-License-Identifier: BSD-3-Clause
// Writes captures of several interfaces: pcapng (draft-ietf-opsawg-pcapng), Ethernet, nanoseconds. libpcap writes
// neither several interfaces nor directions.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace longhaul::drivers {

class PcapngWriter {
 public:
  enum class Way : std::uint32_t { in = 1, out = 2 };  ///< as in epb_flags

  /// Replaces the file. Throws std::runtime_error that names it when it cannot be made.
  PcapngWriter(const std::string& path, std::span<const std::string_view> interfaces, std::string_view application);

  /// What readers show beside a frame.
  struct Note {
    std::string_view comment;                ///< UTF-8; left out when empty
    std::optional<std::uint64_t> packet_id;  ///< the same for one frame at several interfaces (epb_packetid)
  };

  /// `interface` is an index into those given at the start, `time` is in nanoseconds since 1970. `size` is the frame's,
  /// in bytes; `bytes` may be only its beginning.
  void write(std::uint32_t interface, Way way, Time time, std::uint32_t size, std::span<const std::uint8_t> bytes,
             const Note& note = {{}, std::nullopt});

  /// Throws std::runtime_error when not everything has reached the file (a full disk).
  void close();

 private:
  void block(std::uint32_t type, const std::vector<std::uint8_t>& body);

  std::string path_;
  std::ofstream file_;
};

}  // namespace longhaul::drivers
