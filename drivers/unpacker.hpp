// SPDX-License-Identifier: BSD-3-Clause
// Reads a file that may be compressed, by gzip or zstd: by its first bytes, since names may say anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

namespace longhaul::drivers {

/// Unpacks in a thread of its own: the reader's work takes as long as the decompression. What is not compressed goes
/// through as it is, so that pipes can be read too.
class Unpacker {
 public:
  /// Takes over `file`, an open descriptor at its beginning.
  explicit Unpacker(int file);
  /// The user has closed the stream before.
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// What comes out. The caller closes it.
  std::FILE* stream() const { return stream_; }

  /// At the end of the stream: why it ended early, such as "gzip: the file ends inside the compressed data". Otherwise
  /// "".
  std::string error() const { return ended_.load(std::memory_order_acquire) ? error_ : std::string(); }

  /// Bytes of the file read so far.
  std::uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  void run(int file, int out);

  std::FILE* stream_ = nullptr;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::string error_;  // the thread's until ended_
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace longhaul::drivers
