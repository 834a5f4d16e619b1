// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pcapng_writer.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

// Block types and options, sections 4 and 3.5 of the draft.
constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kUserApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kPacketId = 5;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kEndOfOptions = 0;

template <typename T>
std::array<std::uint8_t, sizeof(T)> raw(T value) {
  return std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(value);
}

/// The body of a block, in this machine's byte order, as the section header says.
class Body {
 public:
  template <typename T>
  Body& put(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(value));
    return *this;
  }
  Body& put_padded(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    return *this;
  }
  Body& option(std::uint16_t code, std::span<const std::uint8_t> value) {
    put(code).put(static_cast<std::uint16_t>(value.size()));
    return put_padded(value);
  }
  Body& option(std::uint16_t code, std::string_view text) {
    return option(code, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  const std::vector<std::uint8_t>& end() {
    put(kEndOfOptions).put(std::uint16_t{0});
    return bytes_;
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

PcapngWriter::PcapngWriter(const std::string& path, std::span<const std::string_view> interfaces,
                           std::string_view application)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  if (!file_) throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  constexpr std::uint64_t kLengthUnknown = UINT64_MAX;
  block(kSection, Body()
                      .put(kByteOrder)
                      .put(std::uint16_t{1})
                      .put(std::uint16_t{0})
                      .put(kLengthUnknown)
                      .option(kUserApplication, application)
                      .end());
  const std::uint8_t nanoseconds[] = {9};
  for (const std::string_view name : interfaces)
    block(kInterface, Body()
                          .put(kEthernet)
                          .put(std::uint16_t{0})
                          .put(std::uint32_t{0})
                          .option(kInterfaceName, name)
                          .option(kTimeResolution, nanoseconds)
                          .end());
}

void PcapngWriter::block(std::uint32_t type, const std::vector<std::uint8_t>& body) {
  const auto length = static_cast<std::uint32_t>(body.size() + 3 * sizeof(std::uint32_t));
  const auto put = [this](const void* bytes, std::size_t size) {
    file_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  };
  put(&type, sizeof(type));
  put(&length, sizeof(length));
  put(body.data(), body.size());
  put(&length, sizeof(length));
}

void PcapngWriter::write(std::uint32_t interface, Way way, Time time, std::uint32_t size,
                         std::span<const std::uint8_t> bytes, const Note& note) {
  Body body;
  body.put(interface)
      .put(static_cast<std::uint32_t>(time >> 32))
      .put(static_cast<std::uint32_t>(time))
      .put(static_cast<std::uint32_t>(bytes.size()))
      .put(size)
      .put_padded(bytes)
      .option(kPacketFlags, raw(static_cast<std::uint32_t>(way)));
  if (note.packet_id) body.option(kPacketId, raw(*note.packet_id));
  if (!note.comment.empty()) body.option(kComment, note.comment);
  block(kEnhancedPacket, body.end());
}

void PcapngWriter::close() {
  file_.close();
  if (file_.fail()) throw std::runtime_error(fmt::format("{}: writing failed: {}", path_, std::strerror(errno)));
}

}  // namespace longhaul::drivers
