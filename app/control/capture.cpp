// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/capture.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/protocol/base64.hpp"

namespace longhaul::app {

bool Capture::stop() {
  stop_.store(true, std::memory_order_relaxed);
  return running_.load(std::memory_order_relaxed);
}

void Capture::install(bool on) {
  workers_.order_all([this, on](unsigned worker) -> Order {
    return [taps = taps_, worker, on](WorkerAccess& access) {
      if (access.sink != nullptr) access.sink->tap_by(on ? (*taps)[worker].get() : nullptr);
      return true;
    };
  });
}

void Capture::run(const CaptureRequest& request, Reply& reply) {
  const std::unique_lock turn(mutex_, std::try_to_lock);
  if (!turn) throw CommandError("a capture is already running; `capture stop` ends it");
  const std::size_t bytes = request.packets * request.snap * workers_.count();
  if (bytes > kMostBytes)
    throw CommandError(fmt::format("{} packets of {} bytes for each of {} workers take {} bytes, more than the {} "
                                   "allowed: reduce packets or snaplen",
                                   request.packets, request.snap, workers_.count(), bytes, kMostBytes),
                       Exit::usage);
  // Workers that did not give back the last taps still have them.
  if (taps_ != nullptr) install(false);
  taps_ = std::make_shared<Taps>();
  for (unsigned worker = 0; worker < workers_.count(); ++worker)
    taps_->push_back(std::make_unique<Tap>(request.filter, request.packets, request.snap, workers_.clock()));
  stop_.store(false, std::memory_order_relaxed);
  running_.store(true, std::memory_order_relaxed);
  try {
    install(true);
    reply.line({{"capturing", true}});
    const auto end = std::chrono::steady_clock::now() + request.time;
    while (std::chrono::steady_clock::now() < end && !stop_.load(std::memory_order_relaxed) && reply.wanted())
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } catch (...) {
    running_.store(false, std::memory_order_relaxed);
    install(false);
    throw;
  }
  running_.store(false, std::memory_order_relaxed);
  install(false);
  tell(request, reply);
}

void Capture::tell(const CaptureRequest& request, Reply& reply) const {
  struct Frame {
    Tap::Seen seen;
    const Tap* tap;
    std::size_t index;
  };
  std::vector<Frame> frames;
  std::uint64_t total = 0;
  for (const auto& tap : *taps_) {
    const std::vector<Tap::Seen> seen = tap->seen();
    for (std::size_t i = 0; i < seen.size(); ++i) frames.push_back({seen[i], tap.get(), i});
    total += tap->total();
  }
  std::stable_sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.seen.at < b.seen.at; });
  if (frames.size() > request.packets)
    frames.erase(frames.begin(), frames.end() - static_cast<std::ptrdiff_t>(request.packets));
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const Time began = static_cast<Time>(now.count()) - workers_.clock().now();
  for (const Frame& frame : frames) {
    Json json;
    json["side"] = frame.seen.side == Side::host ? "host" : "wan";
    json["way"] = frame.seen.way == Tap::Way::in ? "in" : "out";
    json["time_ns"] = began + frame.seen.at;
    json["size"] = frame.seen.size;
    json["bytes"] = to_base64(frame.tap->bytes(frame.index));
    reply.line({{"frame", json}});
  }
  Json last;
  last["done"] = true;
  last["frames"] = frames.size();
  last["seen"] = total;
  reply.line(last);
}

}  // namespace longhaul::app
