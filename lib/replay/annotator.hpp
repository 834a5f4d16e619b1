// SPDX-License-Identifier: BSD-3-Clause
// The frames at both ports of a replayed box, in and out, and a remark on each that the box made, absorbed or changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/side.hpp"
#include "base/time.hpp"
#include "replay/ack_comparison.hpp"
#include "replay/collector.hpp"
#include "replay/fates.hpp"
#include "wire/frame.hpp"

namespace longhaul::replay {

/// Keeps the bytes of frames until the end: what a real ACK says of a pseudo-ACK comes a round trip later.
class FrameStore {
 public:
  virtual ~FrameStore() = default;
  /// Appends `frame` to what is there.
  virtual void append(std::span<const std::uint8_t> frame) = 0;
  /// Reads what was appended, from the byte `at` on, into all of `frame`.
  virtual void read(std::uint64_t at, std::span<std::uint8_t> frame) = 0;
};

class Annotator final : public Output {
 public:
  /// A frame as it came to a port or left it.
  struct Event {
    Time time = 0;
    std::uint64_t at = 0;             ///< of its bytes in the store
    std::uint64_t capture_frame = 0;  ///< its number in the capture, 0 for a frame that the box made
    std::uint32_t size = 0;           ///< bytes in the store
    std::uint32_t original_size = 0;  ///< bytes on the wire
    std::uint32_t remark = 0;         ///< its place in the list of remarks, from 1; 0: none
    Side side = Side::host;
    bool in = false;
  };

  /// What leaves the box is passed on to `next`.
  Annotator(Output& next, FrameStore& store) : next_(next), store_(store) {}

  void write(Side out, std::span<const std::uint8_t> frame, Time at) override;

  /// Bracket the engine's handling of a frame of the capture, as the functions of AckComparison do: begin_frame() after
  /// the latter's, end_frame() after the latter's.
  void begin_frame(std::span<const std::uint8_t> frame, std::uint32_t original_size, Side side, Time at);
  void end_frame(const wire::Frame* parsed, const Fates& fates, const AckComparison& comparison);
  /// After the engine's timers have run.
  void end_timers(const AckComparison& comparison);
  /// At the end of the capture.
  void finish();

  /// In order of time. Remarks name frames by their place in this list, from 1.
  const std::vector<Event>& events() const { return events_; }
  /// Empty for frames that just passed.
  const std::string& remark(const Event& event) const;

 private:
  using AckKey = std::tuple<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>, std::uint32_t>;
  struct Open {
    std::uint32_t psn = 0;
    std::size_t event = 0;
  };

  static AckKey key_of(const wire::Frame& answer);
  /// An event that left the box and is not the current frame as it came.
  struct Unexplained {
    std::size_t event = 0;
    std::vector<std::uint8_t> bytes;
  };

  void keep(Event event, std::span<const std::uint8_t> frame);
  void add_remark(std::size_t event, std::string text);
  void explain(const AckComparison& comparison);
  /// Those of `inside_` that the box has dropped.
  void explain_dropped(const AckComparison& comparison);
  /// Whether the event is a frame that came earlier and waited in the box.
  bool explain_waited(const Unexplained& sent);
  void explain_made_or_sent_again(const Unexplained& sent, const AckComparison& comparison);
  void explain_answer(std::size_t event, const wire::Frame& frame, const AckComparison& comparison);
  void explain_request(const Unexplained& sent, const wire::Frame& frame, const AckComparison& comparison);
  /// What a real ACK says of the pseudo-ACKs before it.
  void settle(const wire::Frame& real, const AckVerdict& verdict);
  std::vector<std::uint8_t> bytes_of(std::uint64_t capture_frame);
  /// "frame 12", the place of the capture's frame in events().
  std::string place(std::uint64_t capture_frame) const;

  Output& next_;
  FrameStore& store_;
  std::uint64_t stored_ = 0;
  std::vector<Event> events_;
  std::vector<std::string> remarks_;
  std::vector<std::uint32_t> arrivals_;  ///< places in events_ from 1, by number in the capture, from 1

  std::size_t current_ = 0;  ///< the event of the frame that the engine has at the moment
  std::vector<std::uint8_t> current_bytes_;
  bool has_current_ = false;   ///< false while timers run
  bool current_done_ = false;  ///< it has left the box, or the box has kept it back for good
  std::vector<Unexplained> unexplained_;

  /// Frames that came in and are still in the box, by the hash of their bytes.
  std::unordered_multimap<std::uint64_t, std::size_t> inside_;
  std::size_t dropped_ = 0;  ///< of AckComparison::waited_in_vain(), those that are explained
  /// Pseudo-ACKs that no real ACK has answered yet.
  std::map<AckKey, std::vector<Open>> open_;
};

}  // namespace longhaul::replay
