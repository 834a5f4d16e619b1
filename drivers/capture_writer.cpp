// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/capture_writer.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace longhaul::drivers {
namespace {

constexpr int kSnapLength = 262144;  ///< what tcpdump writes
constexpr Time kSecond = 1'000'000'000;

}  // namespace

struct CaptureWriter::Impl {
  struct Close {
    void operator()(pcap_t* open) const { pcap_close(open); }
    void operator()(pcap_dumper_t* open) const { pcap_dump_close(open); }
  };
  std::string path;
  std::unique_ptr<pcap_t, Close> handle;
  std::unique_ptr<pcap_dumper_t, Close> dumper;
};

CaptureWriter::CaptureWriter(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->handle.reset(pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength, PCAP_TSTAMP_PRECISION_NANO));
  if (!impl_->handle) throw std::runtime_error(fmt::format("{}: out of memory", path));
  impl_->dumper.reset(pcap_dump_open(impl_->handle.get(), path.c_str()));
  if (!impl_->dumper) throw std::runtime_error(pcap_geterr(impl_->handle.get()));
}

CaptureWriter::~CaptureWriter() = default;
CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;
CaptureWriter& CaptureWriter::operator=(CaptureWriter&&) noexcept = default;

void CaptureWriter::write(std::span<const std::uint8_t> frame, Time time) {
  // The file format has 32 bits for seconds (unsigned: until 2106).
  if (time / kSecond > UINT32_MAX)
    throw std::runtime_error(fmt::format("{}: a pcap file cannot hold the time {} s", impl_->path, time / kSecond));
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(time / kSecond);
  header.ts.tv_usec = static_cast<suseconds_t>(time % kSecond);  // nanoseconds, by the precision of the handle
  header.caplen = static_cast<bpf_u_int32>(frame.size());
  header.len = header.caplen;
  pcap_dump(reinterpret_cast<u_char*>(impl_->dumper.get()), &header, frame.data());
}

void CaptureWriter::flush() {
  // pcap_dump() reports nothing, so the stream's own error flag is checked too.
  if (pcap_dump_flush(impl_->dumper.get()) != 0 || std::ferror(pcap_dump_file(impl_->dumper.get())) != 0) {
    throw std::runtime_error(fmt::format("{}: writing failed: {}", impl_->path, std::strerror(errno)));
  }
}

}  // namespace longhaul::drivers
