// SPDX-License-Identifier: BSD-3-Clause
// Writes captures: pcap with nanosecond timestamps, Ethernet.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/time.hpp"

namespace longhaul::drivers {

class CaptureWriter {
 public:
  /// Replaces the file. Throws std::runtime_error naming it when it cannot be made.
  explicit CaptureWriter(const std::string& path);
  ~CaptureWriter();
  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) noexcept;

  /// `time` in nanoseconds since 1970. Throws std::runtime_error when it is after February 2106, where pcap ends.
  void write(std::span<const std::uint8_t> frame, Time time);

  /// Throws std::runtime_error when not everything written so far has reached the file system (a full disk).
  void flush();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::drivers
