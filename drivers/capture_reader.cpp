// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/capture_reader.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace longhaul::drivers {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

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
  std::unique_ptr<pcap_t, Close> handle;
  std::uint64_t frames = 0;
};

CaptureReader::CaptureReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  impl_->path = path;
  impl_->handle.reset(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error.data()));
  if (!impl_->handle) {
    const std::string text = error.data();
    // libpcap names the file in some of its messages and not in others.
    throw std::runtime_error(text.starts_with(path) ? text : fmt::format("{}: {}", path, text));
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
  const long place = std::ftell(pcap_file(impl_->handle.get()));
  return place < 0 ? 0 : static_cast<std::uint64_t>(place);
}

bool CaptureReader::next(CapturedFrame& out) {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  const int result = pcap_next_ex(impl_->handle.get(), &header, &bytes);
  if (result == PCAP_ERROR_BREAK) return false;
  if (result != 1) {
    throw std::runtime_error(
        fmt::format("{}: after frame {}: {}", impl_->path, impl_->frames, pcap_geterr(impl_->handle.get())));
  }
  ++impl_->frames;
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
