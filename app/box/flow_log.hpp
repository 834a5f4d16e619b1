// SPDX-License-Identifier: BSD-3-Clause
// Log lines that an operator must read about single connections: data that was acknowledged and not delivered (design
// rule 6).
#pragma once

#include <cstdint>
#include <vector>

#include "custody/observer.hpp"

namespace longhaul::app {

/// Logs one line per event, at most kLinesPerSecond. A pair of hosts may have as many as are left for others (design
/// rule 9). The first line of the next second says how many were left out, and which pair most of them belong to.
class FlowLog final : public custody::Observer {
 public:
  static constexpr std::uint32_t kLinesPerSecond = 20;

  void on_flow_failed(const custody::FlowIdentity& flow, std::string_view why, std::uint64_t bytes, Time now) override;
  /// Not limited: this happens once in a process's life, and at most once per connection.
  void on_found_in_record(const custody::FlowIdentity& flow, std::uint64_t bytes) override;
  void on_closed_untold(const custody::FlowIdentity& flow, std::uint64_t bytes, Time now) override;
  void on_unconfirmed_in_doubt(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                               Time now) override;
  void on_unconfirmed_at_close(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                               Time now) override;

 private:
  /// Of this second. Who has no line has no entry.
  struct OfPair {
    wire::IpAddress requester;
    wire::IpAddress responder;
    std::uint32_t lines = 0;
    std::uint64_t left_out = 0;
  };

  bool may_log(const custody::FlowIdentity& flow, Time now);
  void say_what_was_left_out() const;

  Time second_ = 0;
  std::uint32_t lines_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<OfPair> pairs_;
};

}  // namespace longhaul::app
