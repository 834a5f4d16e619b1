// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/annotated_file.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "drivers/pcapng_writer.hpp"

namespace longhaul::app {
namespace {

constexpr std::array<std::string_view, 2> kInterfaces = {"host port", "WAN port"};
constexpr std::size_t kBuffer = 1 << 20;

}  // namespace

std::string annotated_path(const std::string& given, const std::string& capture) {
  namespace fs = std::filesystem;
  std::error_code absent;
  if (given.empty() || !fs::is_directory(given, absent)) return given;
  fs::path name = fs::path(capture).filename();
  for (const char* suffix : {".gz", ".zst", ".pcap", ".pcapng", ".cap"}) {
    if (name.extension() == suffix) name.replace_extension();
  }
  return (fs::path(given) / name).string() + ".pcapng";
}

AnnotatedFile::AnnotatedFile(std::string path) : path_(std::move(path)) {
  // In the same place: there has to be room for as much anyway.
  std::string name = path_ + ".XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) fail("cannot be written");
  unlink(name.c_str());
  store_.reset(fdopen(file, "w+b"));
  if (!store_) fail("cannot be written");
  std::setvbuf(store_.get(), nullptr, _IOFBF, kBuffer);
}

void AnnotatedFile::fail(const char* what) const {
  throw std::runtime_error(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void AnnotatedFile::append(std::span<const std::uint8_t> frame) {
  if (std::fwrite(frame.data(), 1, frame.size(), store_.get()) != frame.size()) fail("writing failed");
}

void AnnotatedFile::read(std::uint64_t at, std::span<std::uint8_t> frame) {
  if (std::fflush(store_.get()) != 0) fail("writing failed");
  const ssize_t got = pread(fileno(store_.get()), frame.data(), frame.size(), static_cast<off_t>(at));
  if (got != static_cast<ssize_t>(frame.size())) fail("reading again failed");
}

void AnnotatedFile::write(const replay::Annotator& annotator) {
  if (std::fflush(store_.get()) != 0) fail("writing failed");
  std::rewind(store_.get());
  drivers::PcapngWriter out(path_, kInterfaces, "longhaul replay");
  std::vector<std::uint8_t> frame;
  for (const auto& event : annotator.events()) {
    frame.resize(event.size);
    if (std::fread(frame.data(), 1, frame.size(), store_.get()) != frame.size()) fail("reading again failed");
    drivers::PcapngWriter::Note note{annotator.remark(event), std::nullopt};
    if (event.capture_frame != 0) note.packet_id = event.capture_frame;
    out.write(event.side == Side::host ? 0 : 1,
              event.in ? drivers::PcapngWriter::Way::in : drivers::PcapngWriter::Way::out, event.time,
              event.original_size, frame, note);
  }
  out.close();
}

}  // namespace longhaul::app
