// SPDX-License-Identifier: BSD-3-Clause
// The file of --annotated-out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "replay/annotator.hpp"

namespace longhaul::app {

/// Where --annotated-out `given` puts what it says of `capture`: a file of the capture's name if it is a directory.
std::string annotated_path(const std::string& given, const std::string& capture);

/// Keeps frames in a file without a name beside the one that write() makes.
class AnnotatedFile final : public replay::FrameStore {
 public:
  /// Throws std::runtime_error that names the file when nothing can be written there.
  explicit AnnotatedFile(std::string path);

  void append(std::span<const std::uint8_t> frame) override;
  void read(std::uint64_t at, std::span<std::uint8_t> frame) override;

  /// Makes the pcapng file: two interfaces, "host port" and "WAN port", with what came to them and what left them.
  void write(const replay::Annotator& annotator);

 private:
  struct Close {
    void operator()(std::FILE* open) const { std::fclose(open); }
  };
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> store_;
};

}  // namespace longhaul::app
