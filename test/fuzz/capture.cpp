// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a capture file: frames, or an error that names the file. Frames that were read are written again. An
// independent reader of pcap files judges both.
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "drivers/capture_reader.hpp"
#include "drivers/capture_writer.hpp"
#include "expect.hpp"
#include "input.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;

namespace {

struct Read {
  Time time;
  std::uint32_t original_size;
  Bytes bytes;
  bool operator==(const Read&) const = default;
};

/// A file in memory, at a path that other code can open.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, 0)) {
    expect(descriptor_ >= 0, "memfd_create");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void hold(std::span<const std::uint8_t> bytes) {
    expect(ftruncate(descriptor_, 0) == 0 &&
               pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
           "writing the input");
  }
  Bytes content() const {
    Bytes bytes(static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END)));
    expect(pread(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "reading back");
    return bytes;
  }

 private:
  int descriptor_;
};

constexpr std::size_t kMostFrames = 5000;

/// All frames until the end or the damage. Nothing if it is not a capture of Ethernet frames.
std::optional<std::vector<Read>> read_all(const std::string& path, bool& damaged) {
  std::vector<Read> frames;
  bool opened = false;
  try {
    drivers::CaptureReader reader(path);
    opened = true;
    drivers::CapturedFrame frame;
    while (frames.size() < kMostFrames && reader.next(frame)) {
      frames.push_back({frame.time, frame.original_size, Bytes(frame.bytes.begin(), frame.bytes.end())});
      expect(frame.cut_short() == (frame.bytes.size() < frame.original_size), "cut_short()");
      expect(frame.bytes.size() <= 262144, "a frame larger than libpcap's limit");
    }
  } catch (const std::runtime_error& error) {
    damaged = true;
    expect(std::string(error.what()).find(path) != std::string::npos, "an error that does not name the file");
  }
  if (!opened) return std::nullopt;
  return frames;
}

std::uint32_t number(std::span<const std::uint8_t> bytes, std::size_t at, bool big) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[at + i]) << 8 * (big ? 3 - i : i);
  return value;
}

/// Reads a pcap file of either byte order and resolution (draft-ietf-opsawg-pcap). Nothing if the format is another
/// one, or if libpcap treats the file in a special way.
std::optional<std::vector<Read>> reference(std::span<const std::uint8_t> file, bool& damaged) {
  if (file.size() < 24) return std::nullopt;
  const bool big = file[0] == 0xa1;
  const std::uint32_t magic = number(file, 0, big);
  if (magic != 0xa1b2c3d4 && magic != 0xa1b23c4d) return std::nullopt;
  const std::uint32_t snap = number(file, 16, big);
  if (number(file, 4, big) != (big ? 0x00020004U : 0x00040002U) || number(file, 20, big) != 1 || snap == 0 ||
      snap > 262144)
    return std::nullopt;
  std::vector<Read> frames;
  std::size_t at = 24;
  while (at < file.size() && frames.size() < kMostFrames) {
    if (file.size() - at < 16) {
      damaged = true;
      break;
    }
    const std::uint32_t stored = number(file, at + 8, big);
    if (stored > snap) return std::nullopt;
    const std::uint64_t fraction = number(file, at + 4, big);
    if (fraction >= (magic == 0xa1b2c3d4 ? 1'000'000 : 1'000'000'000)) {
      damaged = at + 16 + stored <= file.size();
      if (!damaged) return std::nullopt;
      break;
    }
    const Time time = seconds(number(file, at, big)) + (magic == 0xa1b2c3d4 ? microseconds(fraction) : fraction);
    const std::uint32_t original = number(file, at + 12, big);
    at += 16;
    if (file.size() - at < stored) {
      damaged = true;
      break;
    }
    const auto bytes = file.subspan(at, stored);
    frames.push_back({time, original, Bytes(bytes.begin(), bytes.end())});
    at += stored;
  }
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static MemoryFile in("in");
  static MemoryFile out("out");
  in.hold({data, size});
  bool damaged = false;
  auto frames = read_all(in.path(), damaged);
  if (frames && !frames->empty() && defect("lost-frame")) frames->pop_back();
  bool should_be_damaged = false;
  if (const auto right = reference({data, size}, should_be_damaged)) {
    expect(frames.has_value(), "a capture refused");
    expect(damaged == should_be_damaged, "damage");
    expect(*frames == *right, "frames");
  }
  if (!frames) return 0;

  // pcap has 32 bits for seconds.
  constexpr Time kEnd = seconds(1ull << 32);
  {
    drivers::CaptureWriter writer(out.path());
    for (const Read& frame : *frames) {
      if (frame.time >= kEnd) {
        try {
          writer.write(frame.bytes, frame.time);
          expect(false, "a time that pcap cannot hold was written");
        } catch (const std::runtime_error& error) {
          expect(std::string(error.what()).find(out.path()) != std::string::npos,
                 "an error that does not name the file");
        }
        continue;
      }
      writer.write(frame.bytes, frame.time);
    }
    writer.flush();
  }
  std::erase_if(*frames, [](const Read& frame) { return frame.time >= kEnd; });
  for (Read& frame : *frames) frame.original_size = static_cast<std::uint32_t>(frame.bytes.size());
  bool bad = false;
  Bytes written = out.content();
  if (!frames->empty() && defect("written")) written.back() ^= 1;
  const auto judged = reference(written, bad);
  expect(judged && !bad && *judged == *frames, "what was written");
  const auto again = read_all(out.path(), bad);
  expect(again && !bad && *again == *frames, "what was written, read again");
  return 0;
}
