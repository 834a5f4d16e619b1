// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/capture_reader.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace longhaul::drivers {

struct CaptureReader::Impl {
  struct Close {
    void operator()(pcap_t* handle) const { pcap_close(handle); }
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
        fmt::format("{}: link type is {}, expected Ethernet (capture on the interface itself, not on \"any\")", path,
                    name != nullptr ? name : std::to_string(type)));
  }
}

CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;

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
  // With nanosecond precision asked for, tv_usec holds nanoseconds.
  out.time = seconds(static_cast<std::uint64_t>(header->ts.tv_sec)) + static_cast<std::uint64_t>(header->ts.tv_usec);
  out.bytes = {bytes, header->caplen};
  out.original_size = header->len;
  return true;
}

}  // namespace longhaul::drivers
