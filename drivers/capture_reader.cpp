// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/capture_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <pcap/pcap.h>

#include "drivers/unpacker.hpp"

namespace longhaul::drivers {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// The first four bytes of pcap, with microseconds or nanoseconds, and pcapng; of either byte order.
bool is_capture(std::uint32_t magic) {
  constexpr std::uint32_t kMagics[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
  return std::find(std::begin(kMagics), std::end(kMagics), magic) != std::end(kMagics);
}

/// Nanoseconds since 1970, or nothing when the stamp is not valid.
std::optional<Time> time_of(const timeval& stamp) {
  // With nanosecond precision asked for, tv_usec holds nanoseconds.
  if (stamp.tv_usec < 0 || stamp.tv_usec >= kNanosecondsPerSecond) return std::nullopt;
  std::int64_t whole = stamp.tv_sec;
  // pcap has 32 unsigned bits, until 2106; libpcap reads them as signed.
  if (whole < 0 && whole >= INT32_MIN) whole += std::int64_t{1} << 32;
  if (whole < 0 || whole >= static_cast<std::int64_t>(UINT64_MAX / kNanosecondsPerSecond)) return std::nullopt;
  return seconds(static_cast<std::uint64_t>(whole)) + static_cast<std::uint64_t>(stamp.tv_usec);
}

}  // namespace

struct CaptureReader::Impl {
  struct Close {
    void operator()(pcap_t* open) const { pcap_close(open); }
  };
  std::string path;
  std::unique_ptr<Unpacker> unpacker;  // of what is not plainly a capture; waits until the handle is closed
  std::unique_ptr<pcap_t, Close> handle;
  std::uint64_t frames = 0;

  std::FILE* open_stream();
  /// A file that is damaged looks to libpcap as if it ended early.
  void throw_unpacking_error() const {
    const std::string error = unpacker ? unpacker->error() : "";
    if (error.empty()) return;
    throw std::runtime_error(frames == 0 ? fmt::format("{}: {}", path, error)
                                         : fmt::format("{}: after frame {}: {}", path, frames, error));
  }
};

std::FILE* CaptureReader::Impl::open_stream() {
  // As libpcap and tcpdump have it.
  const int file = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
  std::uint32_t magic = 0;
  std::FILE* stream = nullptr;
  // Only what can be looked at without reading it.
  if (pread(file, &magic, sizeof(magic), lseek(file, 0, SEEK_CUR)) == sizeof(magic) && is_capture(magic)) {
    stream = fdopen(file, "rb");
  } else {
    unpacker = std::make_unique<Unpacker>(file);
    stream = unpacker->stream();
  }
  if (stream == nullptr) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
  return stream;
}

CaptureReader::CaptureReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  impl_->path = path;
  std::FILE* const file = impl_->open_stream();
  impl_->handle.reset(pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error.data()));
  if (!impl_->handle) {
    std::fclose(file);  // libpcap leaves it open
    impl_->throw_unpacking_error();
    throw std::runtime_error(fmt::format("{}: {}", path, error.data()));
  }
  const int type = pcap_datalink(impl_->handle.get());
  if (type != DLT_EN10MB) {
    const char* name = pcap_datalink_val_to_name(type);
    throw std::runtime_error(
        fmt::format("{}: expected link type Ethernet, got {} (capture on the interface itself, not on \"any\")", path,
                    name != nullptr ? name : std::to_string(type)));
  }
}

CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;

std::uint64_t CaptureReader::size() const {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(impl_->path, unknown);
  return unknown ? 0 : bytes;
}

std::uint64_t CaptureReader::bytes_read() const {
  if (impl_->unpacker) return impl_->unpacker->bytes_read();
  const long place = std::ftell(pcap_file(impl_->handle.get()));
  return place < 0 ? 0 : static_cast<std::uint64_t>(place);
}

bool CaptureReader::next(CapturedFrame& out) {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  const int result = pcap_next_ex(impl_->handle.get(), &header, &bytes);
  if (result == 1) [[likely]] {
    ++impl_->frames;
  } else {
    impl_->throw_unpacking_error();
    if (result == PCAP_ERROR_BREAK) return false;
    throw std::runtime_error(
        fmt::format("{}: after frame {}: {}", impl_->path, impl_->frames, pcap_geterr(impl_->handle.get())));
  }
  const std::optional<Time> time = time_of(header->ts);
  if (!time) {
    throw std::runtime_error(fmt::format("{}: frame {}: impossible time: {} s and {} ns", impl_->path, impl_->frames,
                                         header->ts.tv_sec, header->ts.tv_usec));
  }
  out.time = *time;
  out.bytes = {bytes, header->caplen};
  out.original_size = header->len;
  return true;
}

}  // namespace longhaul::drivers
