// SPDX-License-Identifier: BSD-3-Clause
#include "loaded_hosts.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "thread_sanitizer.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace longhaul::test {

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::uint32_t kForeignEach = 50;  // requests for each frame that is not RoCE

Bytes foreign(std::uint32_t number) {
  Bytes bytes(60, static_cast<std::uint8_t>(number));
  bytes[12] = 0x08;  // ARP
  bytes[13] = 0x06;
  std::memcpy(bytes.data() + 20, &number, sizeof(number));
  return bytes;
}

[[noreturn]] void wrong(const std::string& what) { throw std::runtime_error(what); }

}  // namespace

LoadedHosts::LoadedHosts(const Load& load, Wires& wires, rte_mempool* pool) : load_(load), wires_(wires), pool_(pool) {
  for (const Pair& pair : load.connections) {
    by_requester_qpn_[pair.a_qpn] = connections_.size();
    by_responder_qpn_[pair.b_qpn] = connections_.size();
    connections_.push_back({.pair = pair});
  }
}

void LoadedHosts::run(const std::function<void()>& now_and_then) {
  std::vector<Bytes> requests, replies, ready, disconnects, closed;
  for (const Connection& connection : connections_) {
    requests.push_back(connection.pair.req());
    replies.push_back(connection.pair.rep());
    ready.push_back(connection.pair.rtu());
    disconnects.push_back(connection.pair.dreq(Side::host));
    closed.push_back(connection.pair.drep(Side::wan));
  }
  exchange(Side::host, requests);
  exchange(Side::wan, replies);
  exchange(Side::host, ready);
  // One round trip for each connection, without lag. After that the box acknowledges by itself.
  const std::uint32_t messages = std::exchange(load_.messages, 1);
  const std::uint32_t lag = std::exchange(load_.lag, 0);
  unsigned steps = 0;
  const auto step = [&] {
    constexpr unsigned kNowAndThen = 16;
    if (++steps % kNowAndThen == 0) now_and_then();
    const bool sent = send(), answered = answer(load_.lag), received = receive();
    // The box may need answers to go on. Then it gets them.
    return sent || answered || received || answer(0);
  };
  until("the first requests", step, [this] { return done(); });
  load_.messages = messages;
  load_.lag = lag;
  until("the requests", step, [this] {
    return std::ranges::all_of(connections_, [this](const Connection& c) { return c.arrived == load_.messages; });
  });
  load_.lag = 0;
  until("the last answers", step, [this] { return done(); });
  exchange(Side::host, disconnects);
  exchange(Side::wan, closed);
}

bool LoadedHosts::done() const {
  return foreign_[Side::host].empty() && foreign_[Side::wan].empty() &&
         std::ranges::all_of(connections_, [this](const Connection& c) {
           return c.acknowledged == load_.messages && c.answered == load_.messages;
         });
}

template <typename Step, typename Done>
void LoadedHosts::until(const char* what, Step step, Done done) {
  using Clock = std::chrono::steady_clock;
  // Time that the machine gives to others does not count as waiting.
  constexpr Clock::duration kMostOfALook = std::chrono::milliseconds(100);
  Clock::duration waited{};
  Clock::time_point last = Clock::now();
  while (!done()) {
    const bool moved = step();
    const Clock::time_point now = Clock::now();
    waited = moved ? Clock::duration{} : waited + std::min(now - last, kMostOfALook);
    last = now;
    if (moved) continue;
    if (waited > kPatience) {
      std::string state;
      for (const Connection& c : connections_)
        state += " " + std::to_string(c.sent) + "/" + std::to_string(c.acknowledged) + "/" + std::to_string(c.arrived) +
                 "/" + std::to_string(c.answered);
      wrong(std::string(what) + ": nothing moves; sent, acknowledged, arrived, answered of each:" + state);
    }
    std::this_thread::yield();
  }
}

// All frames go in and come out on the other side unchanged, in any order: they are datagrams of several connections.
void LoadedHosts::exchange(Side from, const std::vector<Bytes>& frames) {
  std::vector<Bytes> due = frames;
  for (const Bytes& bytes : frames) put(from, bytes);
  until(
      "RDMA-CM",
      [&] {
        rte_mbuf* frame = wires_.take(other(from));
        if (frame == nullptr) return false;
        const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
        const auto found = std::ranges::find(due, Bytes(data, data + frame->data_len));
        free_taken(frame);
        if (found == due.end()) wrong("a frame came out for nobody, or twice");
        due.erase(found);
        return true;
      },
      [&] { return due.empty(); });
}

bool LoadedHosts::put_now(Side side, const Bytes& bytes) {
  wire::Frame parsed;
  const bool roce = wire::parse(bytes, parsed) == wire::ParseStatus::roce;
  const unsigned worker = load_.one_queue || !roce ? 0 : steer::home_of(parsed, wires_.workers());
  rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
  if (frame == nullptr) return false;
  std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
  if (!wires_.put(side, worker, frame)) {
    rte_pktmbuf_free(frame);
    return false;
  }
  ++put_;
  return true;
}

void LoadedHosts::put(Side side, const Bytes& bytes) {
  bool in = false;
  until(
      "a port", [&] { return in = put_now(side, bytes); }, [&] { return in; });
}

bool LoadedHosts::send() {
  bool any = false;
  for (Connection& connection : connections_) {
    if (connection.sent == load_.messages || connection.sent - connection.acknowledged >= load_.window) continue;
    if (!put_now(Side::host, connection.pair.write(connection.pair.a_psn + connection.sent))) continue;
    ++connection.sent;
    any = true;
    if (connection.sent % kForeignEach != 0) continue;
    const Side side = connection.sent % (2 * kForeignEach) == 0 ? Side::host : Side::wan;
    const Bytes bytes = foreign(foreign_sent_++);
    if (put_now(side, bytes)) foreign_[other(side)].push_back(bytes);
  }
  return any;
}

bool LoadedHosts::answer(std::uint32_t lag) {
  bool any = false;
  for (Connection& connection : connections_) {
    if (connection.arrived - connection.answered <= lag) continue;
    const std::uint32_t count = connection.arrived - lag;
    if (!put_now(Side::wan, connection.pair.ack(connection.pair.a_psn + count - 1, count))) continue;
    connection.answered = count;
    any = true;
  }
  return any;
}

bool LoadedHosts::receive() {
  bool any = false;
  for (const Side side : {Side::host, Side::wan})
    while (rte_mbuf* frame = wires_.take(side)) {
      any = true;
      const auto* data = rte_pktmbuf_mtod(frame, const std::uint8_t*);
      const Bytes bytes(data, data + frame->data_len);
      free_taken(frame);
      auto& foreigners = foreign_[side];
      if (!foreigners.empty() && foreigners.front() == bytes)
        foreigners.pop_front();
      else if (side == Side::wan)
        at_responder(bytes);
      else
        at_requester(bytes);
    }
  return any;
}

void LoadedHosts::at_responder(const Bytes& bytes) {
  wire::Frame frame;
  if (wire::parse(bytes, frame) != wire::ParseStatus::roce) wrong("a request came out damaged");
  const auto found = by_responder_qpn_.find(frame.destination_qpn());
  if (found == by_responder_qpn_.end()) wrong("a request came out for nobody");
  Connection& connection = connections_[found->second];
  const std::uint32_t number = frame.psn() - connection.pair.a_psn;
  if (number > connection.arrived)
    wrong("request " + std::to_string(number) + " came out before " + std::to_string(connection.arrived));
  if (bytes != connection.pair.write(frame.psn())) wrong("a request came out altered");
  if (number < connection.arrived)
    ++repeated_;
  else
    ++connection.arrived;
}

void LoadedHosts::at_requester(const Bytes& bytes) {
  wire::Frame frame;
  if (wire::parse(bytes, frame) != wire::ParseStatus::roce || !wire::verify_icrc(frame))
    wrong("an answer came out damaged");
  const auto found = by_requester_qpn_.find(frame.destination_qpn());
  if (found == by_requester_qpn_.end()) wrong("an answer came out for nobody");
  if (frame.service() == wire::Service::cnp) return;  // these hosts do not slow down
  Connection& connection = connections_[found->second];
  const std::uint32_t number = frame.psn() - connection.pair.a_psn;
  if (bytes != connection.pair.ack(frame.psn(), number + 1)) wrong("an ACK came out that no responder would have sent");
  if (number >= connection.sent) wrong("a request was acknowledged that had not been sent");
  if (number + 1 < connection.acknowledged) wrong("an ACK came out behind a later one");
  connection.acknowledged = number + 1;
}

}  // namespace longhaul::test
