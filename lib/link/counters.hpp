// SPDX-License-Identifier: BSD-3-Clause
// What one direction of a link counted. received + duplicated + event_duplicate =
// sent + lost + queue_dropped + buffer_dropped + event_drop + frames still held.
#pragma once

#include <cstdint>

namespace longhaul::link {

// X(name, "what it means")
#define LONGHAUL_LINK_COUNTERS(X)                                               \
  X(received, "frames received for this direction")                             \
  X(sent, "frames sent at the far end")                                         \
  X(sent_bytes, "bytes sent at the far end, FCS not counted")                   \
  X(lost, "frames lost at random")                                              \
  X(duplicated, "copies made at random")                                        \
  X(reordered, "frames delayed at random so that later frames overtake them")   \
  X(corrupted, "frames with a bit flipped at random")                           \
  X(queue_dropped, "frames dropped: the queue before the transmitter was full") \
  X(buffer_dropped, "frames dropped: no buffer left for frames under way")      \
  X(copy_failed, "duplicates or corruptions skipped: no buffer for a copy")     \
  X(event_drop, "frames dropped by an event")                                   \
  X(event_duplicate, "copies made by an event")                                 \
  X(event_delay, "frames delayed by an event")                                  \
  X(event_corrupt, "frames corrupted by an event")                              \
  X(event_ecn, "frames marked by an event as congestion experienced (ECN)")

struct Counters {
#define LONGHAUL_LINK_FIELD(name, help) std::uint64_t name = 0;
  LONGHAUL_LINK_COUNTERS(LONGHAUL_LINK_FIELD)
#undef LONGHAUL_LINK_FIELD

  /// Calls visit(name, help, value) for each, in the order above.
  template <typename Visit>
  void each(Visit visit) const {
#define LONGHAUL_LINK_VISIT(name, help) visit(#name, help, name);
    LONGHAUL_LINK_COUNTERS(LONGHAUL_LINK_VISIT)
#undef LONGHAUL_LINK_VISIT
  }
};

}  // namespace longhaul::link
