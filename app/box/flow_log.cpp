// SPDX-License-Identifier: BSD-3-Clause
#include "app/box/flow_log.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

namespace longhaul::app {

namespace {

std::string described(const custody::FlowIdentity& flow) {
  return fmt::format("{} QP {:#08x} -> {} QP {:#08x}", flow.requester.to_string(), flow.requester_qpn,
                     flow.responder.to_string(), flow.responder_qpn);
}

}  // namespace

bool FlowLog::may_log(const custody::FlowIdentity& flow, Time now) {
  const Time second = now / seconds(1);
  if (second != second_) {
    say_what_was_left_out();
    second_ = second;
    lines_ = 0;
    left_out_ = 0;
    pairs_.clear();
  }
  auto pair = std::ranges::find_if(
      pairs_, [&](const OfPair& one) { return one.requester == flow.requester && one.responder == flow.responder; });
  const std::uint32_t own = pair == pairs_.end() ? 0 : pair->lines;
  if (own >= kLinesPerSecond - lines_) {
    ++left_out_;
    if (pair != pairs_.end()) ++pair->left_out;
    return false;
  }
  if (pair == pairs_.end()) pair = pairs_.insert(pair, {flow.requester, flow.responder});
  ++pair->lines;
  ++lines_;
  return true;
}

void FlowLog::say_what_was_left_out() const {
  if (left_out_ == 0) return;
  const auto most = std::ranges::max_element(pairs_, {}, &OfPair::left_out);
  spdlog::error("{} messages about connections were suppressed, {} of them about {} -> {}", left_out_, most->left_out,
                most->requester.to_string(), most->responder.to_string());
}

void FlowLog::on_flow_failed(const custody::FlowIdentity& flow, std::string_view why, std::uint64_t bytes, Time now) {
  if (may_log(flow, now))
    spdlog::error("connection failed: {}: {}; {} bytes were acknowledged to the requester but not delivered",
                  described(flow), why, bytes);
}

void FlowLog::on_found_in_record(const custody::FlowIdentity& flow, std::uint64_t bytes) {
  spdlog::error(
      "connection failed: {}: the box was restarted; {} bytes were acknowledged to the requester but not delivered",
      described(flow), bytes);
}

void FlowLog::on_closed_untold(const custody::FlowIdentity& flow, std::uint64_t bytes, Time now) {
  if (may_log(flow, now))
    spdlog::error(
        "connection closed with lost data: {}: {} bytes were acknowledged to the requester but not delivered, and it "
        "sent no further request that the box could answer with an error",
        described(flow), bytes);
}

void FlowLog::on_unconfirmed_in_doubt(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                                      Time now) {
  if (may_log(flow, now))
    spdlog::error(
        "connection in doubt: {}: its QPs may have a new connection; {} packets, {} bytes were acknowledged to the "
        "former requester, and no answer confirmed their delivery",
        described(flow), packets, bytes);
}

void FlowLog::on_unconfirmed_at_close(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                                      Time now) {
  if (may_log(flow, now))
    spdlog::warn(
        "connection closed by the responder's side: {}: the delivery of {} packets, {} bytes in custody will never be "
        "confirmed",
        described(flow), packets, bytes);
}

}  // namespace longhaul::app
