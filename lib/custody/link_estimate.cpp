// SPDX-License-Identifier: BSD-3-Clause
#include "custody/link_estimate.hpp"

#include <algorithm>

namespace longhaul::custody {

namespace {

constexpr Duration kRemembered = seconds(10);
constexpr Duration kLeastRound = milliseconds(1);
constexpr Duration kLeastBetween = kLeastRound / 32;  // between two looks
constexpr double kLeastQueue = 16384;                 // bytes
constexpr std::uint64_t kMostRoom = std::uint64_t{1} << 40;
constexpr std::array kGains = {1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
constexpr double kDrain = 0.75;
constexpr double kNear = 0.75;  // part of the rate: the link is in use

double ns(Duration time) { return static_cast<double>(time); }

}  // namespace

Duration LinkEstimate::round_time() const { return std::max(rtt_.minimum(), kLeastRound); }

void LinkEstimate::look(std::uint64_t sent, std::uint64_t received, Time now) {
  received_ = received;
  mark(sent, now);
  if (newest_.at > answers_[newest_answer_].at) answered({newest_.sent_at, newest_.at, sent_by(newest_.sent_at)});
  due_at_ = now + std::max(rtt_.smoothed() / 32, kLeastBetween);
}

void LinkEstimate::mark(std::uint64_t sent, Time now) {
  // Otherwise nothing was sent since the last mark.
  if (sent != marks_[newest_mark_].sent) newest_mark_ = (newest_mark_ + 1) % kMarks;
  marks_[newest_mark_] = {now, sent};
}

// Bytes that had been sent by `at`; negative: too long ago to be known.
double LinkEstimate::sent_by(Time at) const {
  const Mark* after = &marks_[newest_mark_];
  if (after->at <= at) return static_cast<double>(after->sent);
  for (unsigned i = 1; i < kMarks; ++i) {
    const Mark& before = marks_[(newest_mark_ + kMarks - i) % kMarks];
    if (before.at == 0) break;
    if (before.at <= at)
      return static_cast<double>(before.sent) +
             static_cast<double>(after->sent - before.sent) * ns(at - before.at) / ns(after->at - before.at);
    after = &before;
  }
  return -1;
}

void LinkEstimate::answered(const Answer& answer) {
  const Duration rtt = answer.at - answer.sent_at;
  rtt_.sample(rtt, answer.at);
  if (round_.began == 0) round_ = {answer.at, received_};
  if (answer.at - round_.began >= round_time()) end_round(answer.at);
  round_.queued = std::min(round_.queued, rtt - rtt_.minimum());
  if (answer.sent >= 0) compare(answer);
  newest_answer_ = (newest_answer_ + 1) % kAnswers;
  answers_[newest_answer_] = answer;
}

// Compares `answer` with those before it, the oldest first.
void LinkEstimate::compare(const Answer& answer) {
  for (unsigned i = kAnswers; i-- > 0;) {
    const Answer& other = answers_[(newest_answer_ + kAnswers - i) % kAnswers];
    if (other.at == 0 || other.sent < 0 || other.sent_at > answer.sent_at || other.at >= answer.at) continue;
    const double bytes = answer.sent - other.sent;
    const double rate = bytes / ns(answer.at - other.at);
    const bool right_behind = answer.sent_at + rtt_.minimum() < other.at;
    if (!right_behind) {
      if (answer.at - other.at >= round_time()) round_.carried = rate;
      continue;
    }
    if (bytes >= kLeastQueue) round_.least = round_.least == 0 ? rate : std::min(round_.least, rate);
    if (bytes > round_.longest_of) {
      round_.longest_of = bytes;
      round_.longest = rate;
    }
    return;
  }
}

void LinkEstimate::note_rate(double rate, Time now) {
  recent_[next_] = rate;
  next_ = (next_ + 1) % recent_.size();
  rate_ = *std::max_element(recent_.begin(), recent_.end());
  seen_at_ = now;
}

void LinkEstimate::end_round(Time now) {
  queued_ = round_.queued == kNone ? 0 : round_.queued;
  const double received = static_cast<double>(received_ - round_.received) / ns(now - round_.began);
  const bool lossy = lost_at_ != 0 && lost_at_ >= previous_began_;
  const bool full = queued_ > rtt_.minimum() / 8 && round_.longest_of >= kLeastQueue;
  if (full) {
    // Real boxes and hosts stand still for milliseconds. Answers that then come together look fast; a whole round is
    // more reliable.
    const double seen = round_.carried == 0 ? round_.longest : std::min(round_.longest, round_.carried);
    const double rate = std::max(lossy ? round_.least : seen, received);
    note_rate(lossy && rate_ != 0 ? std::min(rate, rate_) : rate, now);
  } else if (!lossy && rate_ != 0 && round_.carried > kNear * rate_) {
    note_rate(round_.carried, now);
  }
  if (now - seen_at_ > kRemembered) {
    rate_ = 0;
    recent_.fill(0);
  }

  if (full) starting_ = false;
  if (limited_ && !lossy) room_bytes_ = std::min(2 * room_bytes_, kMostRoom);
  limited_ = false;

  phase_ = (phase_ + 1) % kGains.size();
  pace_bps_ = to_bps(rate_ * (full ? kDrain : kGains[phase_]));
  previous_began_ = round_.began;
  round_ = {now, received_};
}

}  // namespace longhaul::custody
