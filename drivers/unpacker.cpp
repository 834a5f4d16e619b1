// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/unpacker.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

constexpr std::size_t kChunk = 256 << 10;
constexpr int kPipeBytes = 1 << 20;  ///< what any user may ask for

constexpr const char* kEndsEarly = "the file ends inside the compressed data";

/// The packed bytes, a chunk at a time.
class Input {
 public:
  Input(int file, std::atomic<std::uint64_t>& count) : file_(file), count_(count) {}
  ~Input() { close(file_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// What was read and not used up. Empty only at the end of the file.
  std::span<const std::uint8_t> rest(std::size_t at_least = 1) {
    while (end_ - begin_ < at_least && refill()) {
    }
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void used(std::size_t bytes) { begin_ += bytes; }

 private:
  bool refill() {
    std::copy(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
    end_ -= begin_;
    begin_ = 0;
    ssize_t got = 0;
    do {
      got = read(file_, buffer_.data() + end_, buffer_.size() - end_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw std::system_error(errno, std::generic_category());
    end_ += static_cast<std::size_t>(got);
    count_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    return got > 0;
  }

  int file_;
  std::atomic<std::uint64_t>& count_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(kChunk);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// The writing end of the pipe. Gone is the reader that has closed its own: nobody wants the rest.
class Output {
 public:
  struct ReaderGone {};
  explicit Output(int pipe) : pipe_(pipe) {}
  ~Output() { close(pipe_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::write(pipe_, bytes.data(), bytes.size());
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) throw ReaderGone();
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

 private:
  int pipe_;
};

void copy(Input& in, Output& out) {
  for (auto bytes = in.rest(); !bytes.empty(); bytes = in.rest()) {
    out.write(bytes);
    in.used(bytes.size());
  }
}

/// All members of a gzip file, one after another. zlib checks length and CRC of each.
void unpack_gzip(Input& in, Output& out) {
  z_stream stream{};
  constexpr int kGzipOnly = 16;
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  const auto end = [](z_stream* ended) { inflateEnd(ended); };
  const std::unique_ptr<z_stream, decltype(end)> owner(&stream, end);
  std::vector<std::uint8_t> plain(kChunk);
  int result = Z_STREAM_END;  // before a member, as after one
  for (auto packed = in.rest(); !packed.empty(); packed = in.rest()) {
    if (result == Z_STREAM_END) inflateReset(&stream);
    stream.next_in = const_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    do {
      stream.next_out = plain.data();
      stream.avail_out = static_cast<uInt>(plain.size());
      result = inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        throw std::runtime_error(fmt::format("gzip: {}", stream.msg != nullptr ? stream.msg : zError(result)));
      out.write({plain.data(), plain.size() - stream.avail_out});
    } while (stream.avail_out == 0 && result != Z_STREAM_END);
    in.used(packed.size() - stream.avail_in);
  }
  if (result != Z_STREAM_END) throw std::runtime_error(fmt::format("gzip: {}", kEndsEarly));
}

void unpack_zstd(Input& in, Output& out) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::vector<std::uint8_t> plain(kChunk);
  std::size_t result = 0;
  for (auto packed = in.rest(); !packed.empty(); packed = in.rest()) {
    ZSTD_inBuffer from{packed.data(), packed.size(), 0};
    bool full = false;  // of what could be written there may be more
    while (from.pos < from.size || full) {
      ZSTD_outBuffer to{plain.data(), plain.size(), 0};
      result = ZSTD_decompressStream(context.get(), &to, &from);
      if (ZSTD_isError(result) != 0) throw std::runtime_error(fmt::format("zstd: {}", ZSTD_getErrorName(result)));
      out.write({plain.data(), to.pos});
      full = to.pos == to.size && result != 0;
    }
    in.used(packed.size());
  }
  if (result != 0) throw std::runtime_error(fmt::format("zstd: {}", kEndsEarly));
}

struct Format {
  std::uint32_t magic;  ///< of the first four bytes, the first lowest
  std::uint32_t mask;
  void (*unpack)(Input&, Output&);
};

constexpr Format kFormats[] = {
    {0x00008b1f, 0x0000ffff, unpack_gzip},  // RFC 1952, 2.3.1
    {0xfd2fb528, 0xffffffff, unpack_zstd},  // RFC 8878, 3.1.1
    {0x184d2a50, 0xfffffff0, unpack_zstd},  // a skippable frame, with which pzstd's files begin
};

void unpack(Input& in, Output& out) {
  std::uint32_t magic = 0;
  const auto start = in.rest(sizeof(magic));
  for (std::size_t i = 0; i < std::min(start.size(), sizeof(magic)); ++i) magic |= std::uint32_t{start[i]} << (8 * i);
  for (const auto& format : kFormats) {
    if ((magic & format.mask) == format.magic) return format.unpack(in, out);
  }
  copy(in, out);
}

}  // namespace

Unpacker::Unpacker(int file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const int error = errno;
    close(file);
    throw std::system_error(error, std::generic_category());
  }
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // faster when it is granted
  stream_ = fdopen(ends[0], "rb");
  if (stream_ == nullptr) {
    for (const int end : {file, ends[0], ends[1]}) close(end);
    throw std::bad_alloc();
  }
  setvbuf(stream_, nullptr, _IOFBF, kChunk);
  thread_ = std::thread([this, file, out = ends[1]] { run(file, out); });
}

Unpacker::~Unpacker() {
  if (thread_.joinable()) thread_.join();
}

void Unpacker::run(int file, int out) {
  // A reader that stops early is no reason to end the process.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  Output output(out);
  try {
    Input input(file, bytes_read_);
    unpack(input, output);
  } catch (const Output::ReaderGone&) {
  } catch (const std::exception& error) {
    error_ = error.what();
  }
  ended_.store(true, std::memory_order_release);  // before the reader sees the end
}

}  // namespace longhaul::drivers
