// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "drivers/capture_writer.hpp"
#include "replay/collector.hpp"

namespace longhaul::app {

/// The files for what leaves the two ports. A side without a file is only counted.
class PortFiles final : public replay::Output {
 public:
  /// Replaces the files that are named. Throws std::runtime_error when one cannot be made.
  PortFiles(const std::string& host, const std::string& wan) {
    if (!host.empty()) host_.emplace(host);
    if (!wan.empty()) wan_.emplace(wan);
  }
  void write(Side out, std::span<const std::uint8_t> frame, Time at) override {
    auto& writer = out == Side::host ? host_ : wan_;
    if (writer) writer->write(frame, at);
  }
  /// Throws std::runtime_error when not all has been written.
  void flush() {
    if (host_) host_->flush();
    if (wan_) wan_->flush();
  }

 private:
  std::optional<drivers::CaptureWriter> host_;
  std::optional<drivers::CaptureWriter> wan_;
};

}  // namespace longhaul::app
