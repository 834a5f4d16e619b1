// SPDX-License-Identifier: BSD-3-Clause
// Reads captures: pcap and pcapng, timestamps in microseconds or nanoseconds, also compressed by gzip or zstd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/time.hpp"

namespace longhaul::drivers {

struct CapturedFrame {
  Time time = 0;                        ///< nanoseconds since 1970
  std::span<const std::uint8_t> bytes;  ///< what was captured; valid until the next call of next()
  std::uint32_t original_size = 0;      ///< bytes the frame had on the wire

  /// The capture kept only the frame's beginning (snaplen).
  bool cut_short() const noexcept { return bytes.size() < original_size; }
};

class CaptureReader {
 public:
  /// Throws std::runtime_error naming the file when it cannot be read, is no capture, or is not of Ethernet frames.
  /// "-" is standard input.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;

  /// The next frame, or false at the end. Throws std::runtime_error with file and frame number when the file is
  /// damaged: also when it ends inside a frame, or has a time that is not valid.
  bool next(CapturedFrame& out);

  /// Bytes of the file, and how many of them have been read; 0 when that is not known (a pipe).
  std::uint64_t size() const;
  std::uint64_t bytes_read() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::drivers
