// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/record_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::drivers {

using custody::RecordSlot;

namespace {

constexpr std::size_t bytes_for(std::size_t capacity) { return sizeof(RecordHeader) + capacity * sizeof(RecordSlot); }

std::size_t size_of(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

RecordFile::RecordFile(const std::string& path, std::uint32_t capacity) : path_(path) {
  try {
    open_locked();
    const std::size_t wanted = bytes_for(capacity);
    const std::size_t found = size_of(file_);
    if (found != 0) {
      map(found);
      // Zeros alone: the process that made it ended before it wrote the header.
      if (!all_zeros()) {
        check_header(found);
        const std::uint32_t old = header().capacity;
        for (std::uint32_t i = capacity; i < old; ++i)
          if (first_slot()[i].state() == RecordSlot::State::owing)
            fail(
                fmt::format("connection {} of {} in it has lost data, but the configuration has room for only {} "
                            "connections: start with `connections: {}` until such connections are closed",
                            i + 1, old, capacity, old));
      }
      unmap();
    }
    give_room(wanted);
    map(wanted);
    // Growing leaves zeros, which are empty slots, behind the old ones. The capacity counts once there is room for it.
    std::atomic_ref(header().capacity).store(capacity, std::memory_order_release);
    header().version = kVersion;
    header().slot_size = sizeof(RecordSlot);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header().magic = kMagic;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (found > wanted && ftruncate(file_, static_cast<off_t>(wanted)) != 0)
      fail_with_errno("cannot be shortened", errno);
    slots_ = {first_slot(), capacity};
  } catch (...) {
    unmap();
    if (file_ >= 0) close(file_);
    throw;
  }
}

RecordFile::~RecordFile() {
  unmap();
  close(file_);  // this releases the lock too
}

void RecordFile::open_locked() {
  std::error_code made;  // open() reports a directory that cannot be made
  std::filesystem::create_directory(std::filesystem::path(path_).parent_path(), made);
  // It holds everybody's addresses and QPNs, so only the owner may read it.
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
  if (file_ < 0) fail_with_errno("cannot be opened", errno);
  struct stat status {};
  if (fstat(file_, &status) != 0) fail_with_errno("cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) fail("is not a regular file; choose another path");
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) fail("is in use by another running box; each box needs its own record");
    fail_with_errno("cannot be locked", errno);
  }
}

void RecordFile::check_header(std::size_t file_bytes) const {
  if (file_bytes < sizeof(RecordHeader) || header().magic != kMagic)
    fail("is not a restart record of longhaul; choose another path or remove the file");
  if (header().version != kVersion || header().slot_size != sizeof(RecordSlot))
    fail(
        fmt::format("was written by another version of longhaul (format {}, this one uses {}); remove it if you can do "
                    "without its contents",
                    header().version, kVersion));
  if (file_bytes < bytes_for(header().capacity))
    fail(fmt::format(
        "is truncated: {} bytes, but {} connections need {}; what was lost is unknown; remove the file to start",
        file_bytes, header().capacity, bytes_for(header().capacity)));
}

// Real blocks, not a hole: a store into a hole of a full file system would end the process.
void RecordFile::give_room(std::size_t bytes) const {
  const int error = posix_fallocate(file_, 0, static_cast<off_t>(bytes));
  if (error != 0) fail_with_errno(fmt::format("cannot be extended to {} bytes", bytes), error);
}

void RecordFile::map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_, 0);
  if (memory == MAP_FAILED) fail_with_errno("cannot be mapped into memory", errno);
  memory_ = memory;
  mapped_bytes_ = bytes;
}

void RecordFile::unmap() noexcept {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
  memory_ = nullptr;
}

bool RecordFile::all_zeros() const {
  const auto* bytes = static_cast<const std::uint8_t*>(memory_);
  return std::all_of(bytes, bytes + mapped_bytes_, [](std::uint8_t byte) { return byte == 0; });
}

RecordSlot* RecordFile::first_slot() const {
  return reinterpret_cast<RecordSlot*>(static_cast<std::uint8_t*>(memory_) + sizeof(RecordHeader));
}

void RecordFile::fail(const std::string& what) const { throw std::runtime_error(fmt::format("{}: {}", path_, what)); }

void RecordFile::fail_with_errno(const std::string& what, int error) const {
  fail(fmt::format("{}: {}", what, std::strerror(error)));
}

}  // namespace longhaul::drivers
