// SPDX-License-Identifier: BSD-3-Clause
// What an operator must read about single connections: data that was acknowledged and not delivered (design rule 6).
#pragma once

#include <cstdint>

#include "custody/observer.hpp"

namespace longhaul::app {

/// Logs one line an event, at most kLinesPerSecond; how many were left out is said in the next second's first line.
class FlowLog final : public custody::Observer {
 public:
  static constexpr std::uint32_t kLinesPerSecond = 20;

  void on_flow_failed(const custody::FlowIdentity& flow, std::string_view why, std::uint64_t bytes, Time now) override;
  /// Each of them, whatever the rate: once in the life of a process, at most one for each connection.
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
