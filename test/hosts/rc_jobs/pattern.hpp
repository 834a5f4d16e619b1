// SPDX-License-Identifier: BSD-3-Clause
// What the messages of a job are: their sizes, their bytes, and where each lies in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::jobs {

/// What both ends must agree on to know every byte.
struct Pattern {
  std::uint32_t job = 0;
  std::uint32_t messages = 0;
  std::uint32_t largest = 0;     ///< bytes of the largest message
  std::uint32_t same_first = 0;  ///< number of first messages that have the same bytes in every job
  bool vary = false;             ///< sizes differ from job to job
};

/// Who sends the bytes: a reply differs from what it answers.
enum class Side : std::uint32_t { client, server };

/// One message in a region.
struct Place {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
};

/// The places of all messages of a job, with room between them, which stays zero.
class Layout {
 public:
  explicit Layout(const Pattern& pattern);
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::uint64_t region() const { return region_; }  ///< bytes that all of it needs
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }    ///< of the messages alone

 private:
  std::vector<Place> places_;
  std::uint64_t region_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Writes the bytes of one message. None is zero, so that a byte that never arrived can be told from any that did.
void fill(const Pattern& pattern, Side side, std::uint32_t message, std::span<std::uint8_t> out);

/// What a comparison found.
struct Comparison {
  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;        ///< bytes that differ, the missing ones and those between the messages among them
  std::uint64_t missing = 0;      ///< of them, zero where a message should be
  std::uint64_t first_wrong = 0;  ///< offset in the region; meaningless without a wrong one

  void add(const Comparison& other);
};

/// Compares one message that lies at `offset` of its region.
Comparison compare(const Pattern& pattern, Side side, std::uint32_t message, std::uint64_t offset,
                   std::span<const std::uint8_t> bytes);

/// Compares a whole region, the room between the messages too.
Comparison compare(const Pattern& pattern, Side side, const Layout& layout, std::span<const std::uint8_t> region);

}  // namespace longhaul::jobs
