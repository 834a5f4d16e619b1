// SPDX-License-Identifier: BSD-3-Clause
#include "replay/annotator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "metrics/counters.hpp"
#include "wire/psn.hpp"

namespace longhaul::replay {
namespace {

std::string_view nak_name(std::uint8_t syndrome) {
  switch (static_cast<wire::NakCode>(syndrome & 0x1f)) {
    case wire::NakCode::psn_sequence_error:
      return "PSN sequence error";
    case wire::NakCode::invalid_request:
      return "invalid request";
    case wire::NakCode::remote_access_error:
      return "remote access error";
    case wire::NakCode::remote_operational_error:
      return "remote operational error";
    default:
      return "NAK";
  }
}

constexpr std::string_view kOtherBytes = "other bytes";

std::uint64_t hash_of(const std::vector<std::uint8_t>& bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// What of a request the box has changed, such as "AckReq set" or "MAC addresses"; "" if nothing.
std::string changes(std::span<const std::uint8_t> came, std::span<const std::uint8_t> left) {
  std::string text;
  const auto add = [&](std::string_view what) { text += fmt::format("{}{}", text.empty() ? "" : ", ", what); };
  if (came.size() != left.size()) return std::string(kOtherBytes);
  constexpr std::size_t kMacs = sizeof(wire::EthernetAddresses);
  wire::Frame before;
  wire::Frame after;
  if (!wire::is_roce(wire::parse(came, before)) || !wire::is_roce(wire::parse(left, after)))
    return std::string(std::equal(came.begin(), came.end(), left.begin()) ? "" : kOtherBytes);
  if (!std::equal(came.begin(), came.begin() + kMacs, left.begin())) add("MAC addresses");
  if (before.ack_req() != after.ack_req()) add(after.ack_req() ? "AckReq set" : "AckReq cleared");
  // The ICRC follows from the rest.
  const std::size_t flags = before.bth_offset + offsetof(wire::Bth, ack_req);
  for (std::size_t i = kMacs; i < before.icrc_offset; ++i) {
    if (came[i] == left[i] || i == flags) continue;
    add(kOtherBytes);
    break;
  }
  return text;
}

/// "absorbed: already acknowledged", from the counter's name and what it means.
std::string kept_back(Counter counter) {
  const std::string_view name = name_of(counter);
  const std::string_view help = metrics::kCounterInfo[static_cast<std::size_t>(counter)].help;
  const std::size_t colon = help.find(": ");
  const std::string_view reason = colon == std::string_view::npos ? help : help.substr(colon + 2);
  return fmt::format("{}: {}", name.substr(0, name.find('_')), reason);
}

std::string milliseconds(Time time) { return fmt::format("{:.3f} ms", static_cast<double>(time) / 1e6); }

}  // namespace

Annotator::AckKey Annotator::key_of(const wire::Frame& answer) {
  return {answer.source.bytes, answer.destination.bytes, answer.destination_qpn()};
}

const std::string& Annotator::remark(const Event& event) const {
  static const std::string kNone;
  return event.remark == 0 ? kNone : remarks_[event.remark - 1];
}

void Annotator::add_remark(std::size_t event, std::string text) {
  Event& about = events_[event];
  if (about.remark == 0) {
    remarks_.push_back(std::move(text));
    about.remark = static_cast<std::uint32_t>(remarks_.size());
  } else {
    remarks_[about.remark - 1] += "; " + text;
  }
}

void Annotator::keep(Event event, std::span<const std::uint8_t> frame) {
  event.at = stored_;
  event.size = static_cast<std::uint32_t>(frame.size());
  store_.append(frame);
  stored_ += frame.size();
  events_.push_back(event);
}

std::vector<std::uint8_t> Annotator::bytes_of(std::uint64_t capture_frame) {
  const Event& event = events_[arrivals_[capture_frame - 1] - 1];
  std::vector<std::uint8_t> bytes(event.size);
  store_.read(event.at, bytes);
  return bytes;
}

std::string Annotator::place(std::uint64_t capture_frame) const {
  if (capture_frame == 0 || capture_frame > arrivals_.size()) return "a frame that is not in the capture";
  return fmt::format("frame {}", arrivals_[capture_frame - 1]);
}

void Annotator::write(Side out, std::span<const std::uint8_t> frame, Time at) {
  const std::size_t event = events_.size();
  keep({.time = at, .original_size = static_cast<std::uint32_t>(frame.size()), .side = out, .in = false}, frame);
  next_.write(out, frame, at);
  // Most frames leave at once and as they came.
  if (has_current_ && !current_done_ && out != events_[current_].side &&
      std::equal(frame.begin(), frame.end(), current_bytes_.begin(), current_bytes_.end())) {
    current_done_ = true;
    events_[event].capture_frame = events_[current_].capture_frame;
  } else {
    unexplained_.push_back({event, {frame.begin(), frame.end()}});
  }
}

void Annotator::begin_frame(std::span<const std::uint8_t> frame, std::uint32_t original_size, Side side, Time at) {
  current_ = events_.size();
  current_bytes_.assign(frame.begin(), frame.end());
  has_current_ = true;
  current_done_ = false;
  keep({.time = at, .capture_frame = arrivals_.size() + 1, .original_size = original_size, .side = side, .in = true},
       frame);
  arrivals_.push_back(static_cast<std::uint32_t>(events_.size()));
}

void Annotator::end_frame(const wire::Frame* parsed, const Fates& fates, const AckComparison& comparison) {
  if (!current_done_) {
    const auto& counters = not_forwarded_counters();
    const auto why = std::find_if(counters.begin(), counters.end(), [&](Counter one) { return fates.rose(one); });
    if (why != counters.end()) {
      current_done_ = true;
      add_remark(current_, kept_back(*why));
    }
  }
  explain(comparison);
  if (!current_done_) inside_.emplace(hash_of(current_bytes_), current_);
  explain_dropped(comparison);
  has_current_ = false;
  if (parsed != nullptr && comparison.verdict().kind != AckVerdict::Kind::none) settle(*parsed, comparison.verdict());
}

void Annotator::end_timers(const AckComparison& comparison) {
  explain(comparison);
  explain_dropped(comparison);
}

void Annotator::explain_dropped(const AckComparison& comparison) {
  for (; dropped_ < comparison.waited_in_vain().size(); ++dropped_) {
    const auto [first, last] = inside_.equal_range(hash_of(comparison.waited_in_vain()[dropped_]));
    const auto waited = std::min_element(first, last, [](auto& a, auto& b) { return a.second < b.second; });
    if (waited == last) continue;
    add_remark(waited->second, kept_back(Counter::dropped_beyond_gap));
    inside_.erase(waited);
  }
}

void Annotator::explain(const AckComparison& comparison) {
  for (const auto& sent : unexplained_) {
    if (!explain_waited(sent)) explain_made_or_sent_again(sent, comparison);
  }
  unexplained_.clear();
}

bool Annotator::explain_waited(const Unexplained& sent) {
  if (inside_.empty()) return false;
  const auto [first, last] = inside_.equal_range(hash_of(sent.bytes));
  const auto waited = std::min_element(first, last, [](auto& a, auto& b) { return a.second < b.second; });
  if (waited == last || events_[waited->second].side == events_[sent.event].side) return false;
  const Event& arrival = events_[waited->second];
  events_[sent.event].capture_frame = arrival.capture_frame;
  add_remark(sent.event, fmt::format("{}, held for {}", place(arrival.capture_frame),
                                     milliseconds(events_[sent.event].time - arrival.time)));
  inside_.erase(waited);
  return true;
}

void Annotator::explain_made_or_sent_again(const Unexplained& sent, const AckComparison& comparison) {
  wire::Frame frame;
  const bool roce = wire::is_roce(wire::parse(sent.bytes, frame));
  const bool answer = roce && frame.opcode != nullptr && frame.opcode->operation == wire::Operation::acknowledge;
  if (events_[sent.event].side == Side::host && answer) {
    explain_answer(sent.event, frame, comparison);
  } else if (roce && frame.service() == wire::Service::rc) {
    explain_request(sent, frame, comparison);
  } else {
    add_remark(sent.event, "made by the box");
  }
}

void Annotator::explain_answer(std::size_t event, const wire::Frame& frame, const AckComparison& comparison) {
  const std::uint8_t syndrome = frame.aeth().syndrome;
  if (wire::aeth_kind(syndrome) != wire::AethKind::ack) {
    add_remark(event, fmt::format("made by the box: {}, PSN {}", nak_name(syndrome), frame.psn()));
    return;
  }
  const Seen* const request = comparison.request_answered_by(frame);
  add_remark(event, "pseudo-ACK for " + place(request != nullptr ? request->last_frame : 0));
  open_[key_of(frame)].push_back({frame.psn(), event});
}

void Annotator::explain_request(const Unexplained& sent, const wire::Frame& frame, const AckComparison& comparison) {
  const Seen* const request = comparison.request_like(frame);
  if (request == nullptr) {
    add_remark(sent.event, "made by the box");
    return;
  }
  const bool forwarded = has_current_ && !current_done_ && request->last_frame == events_[current_].capture_frame;
  if (forwarded) current_done_ = true;
  std::uint64_t arrival = forwarded ? request->last_frame : request->first_frame;
  std::string changed = changes(bytes_of(arrival), sent.bytes);
  if (changed.ends_with(kOtherBytes)) {  // custody has what the requester sent in the place of the first
    arrival = request->last_frame;
    changed = changes(bytes_of(arrival), sent.bytes);
  }
  events_[sent.event].capture_frame = arrival;
  add_remark(sent.event, fmt::format("{}{}{}{}", place(arrival), forwarded ? "" : " sent again from custody",
                                     changed.empty() ? "" : ", changed: ", changed));
}

void Annotator::settle(const wire::Frame& real, const AckVerdict& verdict) {
  const std::string here = place(events_[current_].capture_frame);
  const auto found = open_.find(key_of(real));
  std::size_t pseudo_ack = 0;  // its place, from 1
  if (found != open_.end()) {
    std::erase_if(found->second, [&](const Open& open) {
      if (!wire::psn_le(open.psn, real.psn())) return false;
      const bool same = open.psn == real.psn();
      if (same) pseudo_ack = open.event + 1;
      if (!same) {
        add_remark(open.event, fmt::format("acknowledged by {}, a real ACK of a later PSN", here));
      } else {
        add_remark(open.event, fmt::format("the real one is {}: {}", here, verdict.text));
      }
      return true;
    });
  }
  if (verdict.kind == AckVerdict::Kind::unmatched) {
    add_remark(current_, "real ACK without a pseudo-ACK: " + verdict.text);
  } else if (pseudo_ack != 0) {
    add_remark(current_, fmt::format("the pseudo-ACK is frame {}: {}", pseudo_ack, verdict.text));
  }
}

void Annotator::finish() {
  for (const auto& [key, open] : open_) {
    for (const auto& one : open) add_remark(one.event, "the capture has no real one");
  }
  for (const auto& [hash, event] : inside_) add_remark(event, "did not leave the box before the capture ended");
}

}  // namespace longhaul::replay
