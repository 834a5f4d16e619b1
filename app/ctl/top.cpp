// SPDX-License-Identifier: BSD-3-Clause
#include "app/ctl/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "app/ctl/render.hpp"
#include "app/ctl/screen.hpp"
#include "base/bytes_text.hpp"
#include "base/plain_cause.hpp"

namespace longhaul::app {
namespace {

using Clock = std::chrono::steady_clock;

struct Sample {
  Json counters;
  Json pairs;
  Clock::time_point at;
};

/// The rates of counters between two samples, per second.
class Rates {
 public:
  Rates(const Sample& before, const Sample& now)
      : before_(before.counters),
        now_(now.counters),
        seconds_(std::chrono::duration<double>(now.at - before.at).count()) {}

  double operator()(std::string_view counter) const {
    const double change = now_.value(counter, 0.0) - before_.value(counter, 0.0);
    return seconds_ > 0 ? std::max(0.0, change) / seconds_ : 0;
  }
  double seconds() const { return seconds_; }

 private:
  const Json& before_;
  const Json& now_;
  double seconds_;
};

constexpr std::string_view kRates[] = {"frames_host", "bytes_host",  "frames_wan",        "bytes_wan",
                                       "requests",    "pseudo_acks", "eligible_requests", "resends"};

/// Why SENDs and WRITEs with AckReq were not accelerated, with rates and shares, as far as surveys saw: between the
/// surveys of the two samples, or between the last two where both have the same one.
Json not_accelerated(const Json& before, const Json& pairs) {
  const Json& earlier = before.at("counted_by_surveys");
  const Json& later = pairs.at("counted_by_surveys");
  const double seconds = later.value("at_seconds", 0.0) - earlier.value("at_seconds", 0.0);
  if (seconds <= 0) return pairs.at("not_accelerated");
  const double all = later.value("ack_requests", 0.0) - earlier.value("ack_requests", 0.0);
  Json out = Json::array();
  for (const PlainCauseInfo& cause : kPlainCauseInfo) {
    const std::string name(cause.name);
    const double count = later.at("not_accelerated").value(name, 0.0) - earlier.at("not_accelerated").value(name, 0.0);
    if (count > 0)
      out.push_back({{"cause", name}, {"why", cause.why}, {"per_second", count / seconds}, {"share", count / all}});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Json& a, const Json& b) { return a.value("share", 0.0) > b.value("share", 0.0); });
  return out;
}

Json view_of(const Json& status, const Sample& before, const Sample& now) {
  const Rates rates(before, now);
  Json out;
  for (const char* key : {"name", "state", "uptime_seconds", "custody", "unconfirmed_bytes", "flows"})
    out[key] = status.at(key);
  out["seconds"] = rates.seconds();
  for (const std::string_view name : kRates) out["per_second"][std::string(name)] = rates(name);
  out["not_accelerated"] = not_accelerated(before.pairs, now.pairs);
  out["pairs"] = now.pairs.at("pairs");
  out["pairs_seen"] = now.pairs.at("pairs_seen");
  return out;
}

std::string text_of(const Json& view) {
  const Json& rates = view.at("per_second");
  const auto rate = [&rates](const char* name) { return rates.value(name, 0.0); };
  const Json& custody = view.at("custody");
  const double limit = custody.value("limit_bytes", 0.0), held = custody.value("bytes", 0.0);
  const double eligible = rate("eligible_requests");
  std::string out = fmt::format("{}: {}, {} flows ({} confirmed), rates over {}\n\n", view.value("name", ""),
                                view.value("state", ""), view.at("flows").value("total", 0),
                                view.at("flows").value("confirmed", 0), in_time(1e9 * view.value("seconds", 0.0)));
  const auto line = [&out](std::string_view what, const std::string& text) {
    out += fmt::format("  {:<12} {}\n", what, text);
  };
  line("from hosts", scaled(rate("frames_host"), "frames/s") + ", " + scaled(8 * rate("bytes_host"), "bit/s"));
  line("from the WAN", scaled(rate("frames_wan"), "frames/s") + ", " + scaled(8 * rate("bytes_wan"), "bit/s"));
  line("requests", scaled(rate("requests"), "requests/s") + ", resends " + scaled(rate("resends"), "packets/s"));
  line("accelerated", scaled(rate("pseudo_acks"), "pseudo-ACKs/s") + " for " + scaled(eligible, "eligible requests/s"));
  line("custody", fmt::format("{} of {} ({:.1f}%), {} of it unconfirmed", bytes_text(held), bytes_text(limit),
                              limit > 0 ? 100 * held / limit : 0.0, bytes_text(view.value("unconfirmed_bytes", 0.0))));
  out += "\nNOT ACCELERATED, of SENDs and WRITEs with AckReq\n";
  out += causes_text(view.at("not_accelerated"), "  ");
  if (view.at("not_accelerated").empty()) out += "  nothing\n";
  return out + '\n' + pairs_text(view);
}

class Watch {
 public:
  explicit Watch(const AskBox& ask) : ask_(ask), last_(sample()) {}

  /// What has happened since the last view, or since the beginning.
  Json next() {
    Sample now = sample();
    Json view = view_of(ask_("status"), last_, now);
    last_ = std::move(now);
    return view;
  }

 private:
  Sample sample() const {
    Json counters = ask_("counters");
    return {std::move(counters), ask_("pairs"), Clock::now()};
  }

  const AskBox& ask_;
  Sample last_;
};

}  // namespace

void top(const AskBox& ask, const TopOptions& options) {
  if (!options.once && isatty(STDOUT_FILENO) != 1)
    throw CommandError("top: standard output is no terminal; print the view once with --once", Exit::usage);
  Watch watch(ask);
  if (options.once) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    const Json view = watch.next();
    fmt::print("{}", options.json ? view.dump(2) + '\n' : text_of(view));
    return;
  }
  const Screen screen;
  screen.draw(fmt::format("first rates in {}; q ends\n", in_time(1e9 * options.interval)));
  while (!screen.quit_within(options.interval)) screen.draw(text_of(watch.next()) + "q ends");
}

}  // namespace longhaul::app
