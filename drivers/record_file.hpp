// SPDX-License-Identifier: BSD-3-Clause
// The file that holds the restart record, mapped and shared, so that the record survives the process. On tmpfs (/run)
// it survives nothing more. On a disk it survives an orderly reboot too, but a store may wait for the disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "custody/restart_record.hpp"

namespace longhaul::drivers {

/// Format, native byte order: this header, then `capacity` slots.
struct RecordHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t slot_size;  ///< bytes
  std::uint32_t capacity;   ///< slots
  std::array<std::uint8_t, 108> reserved;
};
static_assert(sizeof(RecordHeader) == 128);

class RecordFile {
 public:
  static constexpr std::array<char, 8> kMagic = {'l', 'h', 'r', 'e', 'c', 'o', 'r', 'd'};
  static constexpr std::uint32_t kVersion = 1;

  /// Opens or makes `path` (and the directory it is in, one level) with `capacity` slots and locks it for this process.
  /// A record of another capacity is grown or cut, and keeps its content. Throws std::runtime_error that names the
  /// path, what is wrong and what to do: not a record, another version, cut short, in use by another process, no
  /// permission, no space, or slots beyond `capacity` that are owing.
  RecordFile(const std::string& path, std::uint32_t capacity);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  std::span<custody::RecordSlot> slots() const { return slots_; }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_with_errno(const std::string& what, int error) const;
  void open_locked();
  void map(std::size_t bytes);
  void unmap() noexcept;
  void check_header(std::size_t file_bytes) const;
  void give_room(std::size_t bytes) const;
  bool all_zeros() const;
  RecordHeader& header() const { return *static_cast<RecordHeader*>(memory_); }
  custody::RecordSlot* first_slot() const;

  std::string path_;
  int file_ = -1;
  void* memory_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::span<custody::RecordSlot> slots_;
};

}  // namespace longhaul::drivers
