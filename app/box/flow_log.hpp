// SPDX-License-Identifier: BSD-3-Clause
// Log lines that an operator must read about single connections: data that was acknowledged and not delivered (design
// rule 6).
#pragma once

#include <cstdint>

#include "custody/observer.hpp"

namespace longhaul::app {

/// Logs one line per event, at most kLinesPerSecond. The first line of the next second says how many were left out.
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
  bool may_log(Time now);

  Time second_ = 0;
  std::uint32_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace longhaul::app
