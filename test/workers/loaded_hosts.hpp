// SPDX-License-Identifier: BSD-3-Clause
// Requesters and responders on both sides of a box with several workers, in one thread. They send real frames, and
// compare every frame that comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/side.hpp"
#include "support/hosts.hpp"
#include "wires.hpp"

struct rte_mempool;

namespace longhaul::test {

struct Load {
  std::vector<Pair> connections;
  std::uint32_t messages = 1000;  ///< WRITEs of each connection
  std::uint32_t window = 8;       ///< the most WRITEs of each connection without an ACK
  std::uint32_t lag = 16;         ///< WRITEs of each connection that the responder leaves unanswered while more come
  bool one_queue = false;         ///< worker 0 receives everything; otherwise the home worker
};

/// No retries, because a box that loses nothing needs none. Throws std::runtime_error that says what is wrong.
class LoadedHosts {
 public:
  LoadedHosts(const Load& load, Wires& wires, rte_mempool* pool);

  /// Connects by RDMA-CM, sends all messages, and disconnects. Blocks until everything has come out. Calls
  /// `now_and_then` while requests are under way.
  void run(const std::function<void()>& now_and_then);

  std::uint64_t put() const { return put_; }            ///< frames that went into the box
  std::uint64_t repeated() const { return repeated_; }  ///< WRITEs that came again after one of the box's timers

 private:
  struct Connection {
    Pair pair;
    std::uint32_t sent = 0;
    std::uint32_t acknowledged = 0;
    std::uint32_t arrived = 0;
    std::uint32_t answered = 0;
  };
  void exchange(Side from, const std::vector<Bytes>& frames);
  void put(Side side, const Bytes& bytes);
  bool put_now(Side side, const Bytes& bytes);
  bool send();
  bool answer(std::uint32_t lag);
  bool receive();
  void at_responder(const Bytes& bytes);
  void at_requester(const Bytes& bytes);
  bool done() const;
  template <typename Step, typename Done>
  void until(const char* what, Step step, Done done);

  Load load_;
  Wires& wires_;
  rte_mempool* pool_;
  std::vector<Connection> connections_;
  std::map<std::uint32_t, std::size_t> by_responder_qpn_;
  std::map<std::uint32_t, std::size_t> by_requester_qpn_;
  BySide<std::deque<Bytes>> foreign_;  ///< by the side where they come out
  std::uint64_t put_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint32_t foreign_sent_ = 0;
};

}  // namespace longhaul::test
