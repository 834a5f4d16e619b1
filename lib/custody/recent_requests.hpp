// SPDX-License-Identifier: BSD-3-Clause
// The requests that may be another life's (identity.cpp), as far as they are remembered.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.hpp"
#include "custody/asked_reads.hpp"
#include "custody/psn_runs.hpp"
#include "wire/psn.hpp"

namespace longhaul::custody {

/// Requests seen recently. One that does not come again while others do is forgotten after one to two spans of time.
class RecentRequests {
 public:
  bool empty() const { return recent_.runs.empty(); }
  void clear() { *this = {}; }

  /// A request with the PSNs [low, end) was seen.
  void add(std::uint32_t low, std::uint32_t end, Time now, Duration span) {
    note_lowest(low);
    forget(now, span);
    put(low, end, now);
  }
  /// A READ was seen. Returns false, and notes nothing, when there is no room for another.
  bool add_read(std::uint32_t psn, std::uint32_t bytes, Time now, Duration span) {
    forget(now, span);
    if (!recent_.reads.add(psn, bytes)) return false;
    note_lowest(psn);
    put(psn, psn, now);
    return true;
  }
  /// Requests that begin at `psn` are announced; none of them has been seen.
  void add_place(std::uint32_t psn, Time now) { put(psn, psn, now); }

  /// The responder of these requests may expect a request with this PSN next.
  bool may_go_on_at(std::uint32_t psn) const { return recent_.may_go_on_at(psn) || earlier_.may_go_on_at(psn); }
  /// One of them, or its last response, may have the PSN before `end`.
  bool may_end_at(std::uint32_t end) const { return recent_.may_end_at(end) || earlier_.may_end_at(end); }
  /// A response may have this PSN.
  bool may_have_response(std::uint32_t psn) const {
    return recent_.may_have_response(psn) || earlier_.may_have_response(psn);
  }
  /// One may end at `psn`, or up to `reach` PSNs before it: its requester may come there.
  bool may_come_to(std::uint32_t psn, std::uint32_t reach) const {
    return recent_.may_come_to(psn, reach) || earlier_.may_come_to(psn, reach);
  }
  /// The lowest PSN of all requests ever added. Nothing when there are none, or when they lie too far apart on the
  /// circle to be ordered.
  std::optional<std::uint32_t> lowest() const { return ordered_ ? lowest_ : std::nullopt; }
  /// Something was forgotten.
  bool forgot() const { return forgot_; }
  /// One came directly after another: they are a requester's, and no late copy.
  bool go_on() const { return go_on_; }
  /// When something was last added. Must not be empty.
  Time last_at() const { return last_at_; }
  /// First PSN after the highest remembered request beyond `psn`; `psn` when there is none.
  std::uint32_t top_from(std::uint32_t psn) const { return earlier_.top_from(recent_.top_from(psn)); }

 private:
  // A quarter of the circle. A requester that goes on past half of it is noticed before it gets there.
  static constexpr std::int32_t kOrdered = 1 << 22;

  struct Requests {
    PsnRuns runs;  // of a READ only the place where it begins
    AskedReads reads;

    bool may_go_on_at(std::uint32_t psn) const { return runs.touches(psn) || reads.may_end_at(psn); }
    bool may_end_at(std::uint32_t end) const { return runs.has(wire::psn_add(end, -1)) || reads.may_end_at(end); }
    bool may_have_response(std::uint32_t psn) const { return runs.has(psn) || reads.may_have(psn); }
    bool may_come_to(std::uint32_t psn, std::uint32_t reach) const {
      return runs.ends_within(psn, reach) || reads.may_come_to(psn, reach);
    }
    std::uint32_t top_from(std::uint32_t psn) const { return reads.top_from(runs.top_from(psn)); }
  };

  void forget(Time now, Duration span) {
    if (recent_.runs.empty() || now - began_ <= span) return;
    forgot_ = forgot_ || !earlier_.runs.empty();
    earlier_ = recent_;
    recent_ = {};
  }

  void put(std::uint32_t low, std::uint32_t end, Time now) {
    if (recent_.runs.empty()) began_ = now;
    go_on_ = go_on_ || (last_at_ != 0 && low == last_end_ && low != end);
    recent_.runs.add(low, end);
    last_at_ = now;
    last_end_ = end;
  }

  void note_lowest(std::uint32_t low) {
    const std::int32_t ahead = lowest_ ? wire::psn_diff(low, *lowest_) : 0;
    if (ahead > kOrdered || ahead < -kOrdered) ordered_ = false;
    if (!lowest_ || ahead < 0) lowest_ = low;
  }

  Requests recent_;
  Requests earlier_;
  Time began_ = 0;
  Time last_at_ = 0;
  std::uint32_t last_end_ = 0;
  std::optional<std::uint32_t> lowest_;
  bool ordered_ = true;
  bool forgot_ = false;
  bool go_on_ = false;
};

}  // namespace longhaul::custody
