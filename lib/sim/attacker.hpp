// SPDX-License-Identifier: BSD-3-Clause
// Who attacks the hosts of a world through their boxes. A tenant has addresses of its own on both sides, sends anything
// from them with valid ICRCs, and posts as fast as it likes. A forger sends from any address, and cannot read the
// frames of others. The attack itself is a row of a table (sim/attack_table.hpp).
//
// To tell what an attack takes from what its frames take of the line, a world can run again with the same frames'
// number, sizes and times as harmless UDP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "sim/attack_connection.hpp"
#include "sim/case.hpp"
#include "sim/frames.hpp"
#include "sim/random.hpp"
#include "sim/result.hpp"
#include "wire/builder.hpp"
#include "wire/cm.hpp"

namespace longhaul::sim {

struct Attack;

class Attacker {
 public:
  /// Puts a frame on the way that begins at a host's side.
  using Put = std::function<void(unsigned host, std::span<const std::uint8_t> frame)>;

  /// Hears what a box has done to the attacker's own connections that no box may do to any.
  using Complain = std::function<void(const std::string&)>;

  /// `start`: of the world. `imitated`: sends harmless frames like these and nothing else; null: attacks. The case must
  /// outlive it, and so must `imitated`.
  Attacker(const Case& c, Time start, Put put, Complain complain, const std::vector<SentFrame>* imitated);

  Time next_deadline() const;
  void poll(Time now);
  /// A frame has come to the side of `host`.
  void hear(unsigned host, const View& view, Time now);
  /// No more steps.
  void stop() { next_step_ = kNever; }
  /// All steps are done: its far ends answer as they should, or not at all.
  bool over() const { return next_step_ == kNever; }

  const std::vector<SentFrame>& sent() const { return sent_; }

  // What attacks use.
  const Case& plan() const { return plan_; }
  Random& random() { return random_; }
  Time now() const { return now_; }
  /// The host on whose side its requests begin.
  unsigned near() const { return static_cast<unsigned>(plan_.attack.side); }
  unsigned far() const { return 1 - near(); }

  /// The connection with this number, with the table's manners. It connects when it is asked for first; a forger has
  /// none.
  AttackConnection& connection(unsigned number, unsigned pair = 0);
  /// The requests of a step: a WRITE of the plan's size on one of `connections`, in turn.
  void write_in_turn(Number step, unsigned connections);

  /// Begins a frame from `host`'s side to the other, between the attacker's own hosts.
  wire::PacketBuilder own(unsigned host, unsigned pair, bool vlan = false) const;
  /// The same in the name of the victim's hosts.
  wire::PacketBuilder forged(unsigned host) const;
  /// A guess of a QPN that `host` has: hosts count them up (ReDMArk).
  std::uint32_t guessed_qpn(unsigned host);
  /// Guesses that together cover all PSNs, `apart` from each other. None hits a PSN that the victim's connections use:
  /// no box can tell such a frame from a real one, and the chance for it is small.
  std::uint32_t guessed_psn(Number step, std::uint32_t apart);

  void send(unsigned host, const wire::PacketBuilder& frame) { send(host, frame.build()); }
  void send(unsigned host, const std::vector<std::uint8_t>& frame);
  void send_cm(unsigned host, wire::PacketBuilder frame, const wire::CmMessage& message);
  void complain(const std::string& what) { complain_(what); }

 private:
  void open();
  void imitate(Time now);

  const Case& plan_;
  const Attack& attack_;
  const Manners manners_;
  Time start_;
  Put put_;
  Complain complain_;
  const std::vector<SentFrame>* imitated_;
  std::size_t imitated_next_ = 0;
  Random random_;
  Time now_;
  Time next_step_;
  bool opened_;
  Number step_ = 0;
  std::map<unsigned, std::unique_ptr<AttackConnection>> connections_;
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<Range> used_psns_;  ///< by the victim
  std::uint32_t first_guess_ = 0;
  std::vector<SentFrame> sent_;
};

}  // namespace longhaul::sim
