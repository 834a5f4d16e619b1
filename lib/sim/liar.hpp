// SPDX-License-Identifier: BSD-3-Clause
// Somebody who has the key and speaks to a box in its peer's place (docs/peer-protocol.md, section 9). It sees what
// passes, so that its lies are near the truth: it binds flows at PSNs of its own choosing, ends bindings, announces
// packets that were never sent, calls missing what has come, and echoes any clock. Rule B: that costs time, at worst a
// connection, loudly.
#pragma once

#include <functional>
#include <vector>

#include "base/side.hpp"
#include "flow/key_index.hpp"
#include "peer/peers.hpp"
#include "relay/messages.hpp"
#include "sim/frames.hpp"
#include "sim/random.hpp"

struct rte_mbuf;

namespace longhaul::sim {

class Liar final : private peer::Outlet {
 public:
  using Send = std::function<bool(peer::Bytes frame)>;
  /// Lies each `interval`, on average.
  Liar(const peer::Settings& settings, unsigned workers, const wire::MacAddress& mac, peer::Random its_random,
       Duration interval, Random random, Send send, Time now);

  bool is_for_us(peer::Bytes frame) const { return peers_.is_for_us(frame); }
  void take(peer::Bytes frame, Time now);
  /// Any other frame that comes to the box.
  void see(Side side, const rte_mbuf* frame);
  void stop(Time now);
  void poll(Time now);
  Time next_deadline() const;

 private:
  /// A flow of requests, as the box that is lied to sees it.
  struct Seen {
    flow::KeyIndex::Key key;
    std::uint32_t psn;
    std::uint32_t requester_qpn = 0;  ///< to which answers go
  };
  /// What the box has bound.
  struct Bound {
    relay::Name name;
    std::uint32_t psn;
  };
  static constexpr unsigned kMost = 2000;  ///< lies: a world must end

  bool transmit(peer::Bytes frame) override { return send_(frame); }
  void carried(std::uint32_t peer, const peer::Carried& message) override;
  void lie();
  void see_request(const View& view);
  void see_answer(const View& view);
  template <typename Names>
  void lie_about_missing(relay::Type type, std::uint64_t clock, Names names);
  void lie_about_order();
  void lie_about_answers();
  void lie_about_bindings();
  void lie_about_ends();
  relay::Name any_name();
  std::uint32_t near(std::uint32_t psn);
  std::uint64_t any_clock(std::uint64_t newest);
  void say(relay::Type type, relay::Bytes body);

  peer::Peers peers_;
  unsigned workers_;
  unsigned its_workers_ = 1;  ///< of the box that is lied to
  Duration interval_;
  Random random_;
  Send send_;
  Time now_;
  Time next_lie_;
  unsigned lies_ = 0;
  std::uint32_t peer_ = 0;   ///< 0: it is not up
  std::uint64_t clock_ = 0;  ///< the newest CLOCK that came
  std::uint64_t answer_clock_ = 0;
  std::uint32_t binding_ = 0;  ///< the newest that was made here
  std::vector<Bound> bound_;
  std::vector<Seen> seen_;  ///< requests towards the box that is lied to
};

}  // namespace longhaul::sim
