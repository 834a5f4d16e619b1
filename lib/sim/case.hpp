// SPDX-License-Identifier: BSD-3-Clause
// One case: every knob of a simulated world as a number. Its text form names only what differs from a calm world:
// "seed=7 a.messages=3 ab1.loss=500". The same text gives the same world, event for event.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "link/settings.hpp"
#include "sim/rate_control.hpp"
#include "sim/retries.hpp"
#include "sim/work.hpp"
#include "wire/headers.hpp"

namespace longhaul::sim {

using Number = std::uint64_t;

/// A knob that chooses a kind holds the kind's number, in the text too. So enumerators must keep their numbers.
template <typename Kind>
requires std::is_enum_v<Kind>
constexpr Number number_of(Kind kind) { return static_cast<Number>(kind); }

/// Segments: host A to box A, the long link, box B to host B; the order of Case::harm.
inline constexpr Number kSegments = 3;
inline constexpr Number kLongHaul = 1;

/// What a box does for flows (flow::Policy).
enum class BoxPolicy : Number { off, full, window };

/// What a box is to the other one.
enum class BoxPeer : Number {
  none,
  peer,  ///< the two repair flows together, if both are
  liar   ///< somebody who has the key speaks in its place (sim/liar.hpp)
};

/// Whose application closes a connection: after both requesters have ended, or early.
enum class Closing : Number { nobody, a, b, both, a_early, b_early };

/// What each life of a connection posts, compared with the life before.
enum class NextWork : Number {
  other,              ///< other bytes
  same,               ///< the same bytes
  same_first_message  ///< the same first message, then others
};

/// How a box learns its host's new next hop, other than from the host's requests and answers.
enum class NextHopNews : Number {
  frames_of_host,  ///< frames of other protocols
  far_host,        ///< the far host's address is announced again
  gateway          ///< the gateway's address is announced; its old MAC address was heard before
};

/// How a NIC chooses the UDP source port of a queue pair (sim/source_port.hpp).
enum class SourcePort : Number {
  fixed,      ///< one for all
  both_qpns,  ///< from both QPNs, the same in both directions: the kernel's rdma_get_udp_sport() with flow label 0
  own_qpn,    ///< from its own QPN, as rxe
  random      ///< by lot
};

/// Impairments in one direction of one segment. Chances are in 1/10,000 per frame.
struct Harm {
  Number loss = 0;
  Number loss_ppm = 0;  ///< in addition, in 1/1,000,000
  Number duplicate = 0;
  Number reorder = 0;
  Number reorder_us = 50;
  Number corrupt = 0;
  Number jitter_us = 0;
  Number burst = 0;  ///< chance that a burst of losses begins
  Number burst_frames = 8;
};

/// One host: its work, and the behaviour of its requester and its responder.
struct HostPlan {
  Number messages = 0;
  Number mix = number_of(Mix::common);
  Number max_bytes = 3000;
  Number depth = 16;
  Number window = 64;
  Number burst = 8;
  Number pace_us = 0;
  Number ack_habit = 0;
  Number selective = 0;
  Number ack_timeout_us = 20000;
  Number timeout_spread = 25;  ///< percent: a timeout takes up to this much longer
  Number patient = 1;
  Number retry_count = 7;
  Number rnr_retry = kEndlessRnrRetry;
  Number initiator_depth = 4;
  Number tail_repeat = 1;
  Number places_us = 0;  ///< its queue pairs place out of order, and ask after this for what is missing; 0: they do not
  Number psn = 100;
  // For measurements: limits of a NIC and its application.
  Number uniform = 0;        ///< each message has max_bytes
  Number warm_up = 0;        ///< this many small SENDs come first
  Number nic_depth = 0;      ///< messages that the NIC sends before it has an answer; 0: `depth`
  Number moderation = 1;     ///< the application hears of every nth completion
  Number turnaround_ns = 0;  ///< from the answer until the application can post
  Number message_ns = 0;     ///< minimum time between the starts of two messages
  Number port_mbps = 0;      ///< of the host's port; 0: unlimited
  // Habits of NIC families (sim/nic_families.hpp).
  Number nic = 0;               ///< the family that the host's habits are drawn from; 0: none
  Number ack_each = 0;          ///< AckReq on each nth packet of a message too, beside `ack_habit`; 0: none
  Number first_timeout_us = 0;  ///< adaptive retransmission begins with this, and doubles up to ack_timeout; 0: without
  Number udp_port = number_of(SourcePort::fixed);
  Number congestion = number_of(Congestion::none);
  Number cnp_us = 0;  ///< its responder sends a CNP for marked frames, one in this time at most; 0: none

  Number receives = 0;
  Number refill_us = 0;
  Number rnr_timer = 10;
  Number nak_after_rnr = 0;
  Number ack_every = 1;
  Number ack_delay_us = 0;
  Number credits = 0;
  Number fatal_at = 0;
  Number fatal_code = number_of(wire::NakCode::remote_access_error);
  Number odd_nak_at = 0;  ///< this message's answer comes with a NAK whose code IBTA does not define; 0: none
  Number dead_at = 0;

  Number foreign_us = 0;  ///< interval of frames that concern no connection; 0: none
  Number forged_us = 0;   ///< interval of forged frames; 0: none
  Number load_mbps = 0;   ///< steady traffic beside its connections
  Number load_bytes = 1024;
  Number load_at_us = 0;
  Number load_us = 0;       ///< duration; 0: until all connections have ended
  Number forged_reads = 0;  ///< the forged frames include READs of any length below its requester's PSNs
};

struct BoxPlan {
  Number present = 1;
  Number confirm_cm = 0;
  Number policy = number_of(BoxPolicy::full);
  Number flow_bytes = 64 << 20;
  Number box_bytes = 256 << 20;
  Number mbufs = 4096;
  Number window_bytes = 1 << 20;
  Number reorder_wait_us = 200;
  Number ack_unasked_us = 0;
  Number wan_mbps = 0;
  Number port_full = 0;  ///< of 10,000 attempts to send, this many find a port full
  Number drain_at_us = 0;
  Number undrain_at_us = 0;
  Number repolicy_at_us = 0;
  Number repolicy = number_of(BoxPolicy::off);  ///< the policy from then on
  Number bypass_at_us = 0;  ///< an operator drains the box; frames pass untouched once custody is empty
  Number bypass_us = 0;     ///< duration; 0: to the end
  Number start_at_us = 0;   ///< the box starts late
  Number crash_at_us = 0;
  Number restart_after_us = 0;       ///< 0: it does not restart, and frames pass it by
  Number record = 0;                 ///< it keeps a restart record
  Number dark = 0;                   ///< while it is down frames are lost; otherwise they pass it by
  Number pause_at_us = 0;            ///< it stands still, as a stopped process does
  Number pause_us = 0;               ///< duration
  Number ring = 1024;                ///< frames that each port holds meanwhile; more are lost
  Number answers_pass_by_at_us = 0;  ///< from then on answers to its host take another path
  Number frame_ns = 0;               ///< minimum time between frames that it takes in from a port
  Number cnp = 0;                    ///< it makes congestion notifications for its host
  Number cnp_absorb = 0;             ///< and keeps those from the WAN for what it has acknowledged
  Number workers = 1;
  Number receiver = 0;  ///< the worker that receives the hosts' frames, counted from their home
  Number peer = number_of(BoxPeer::none);
  Number lie_us = 300;           ///< the interval between a liar's lies, on average
  Number control_cut_at_us = 0;  ///< from then on nothing comes from the peer
  Number control_cut_us = 0;     ///< duration
  Number control_late_us = 0;    ///< what comes from the peer is late by up to this
  Number control_replay = 0;     ///< of 10,000 frames from the peer, this many are followed by an earlier one
  Number hand_over_us = 0;       ///< interval at which a worker looks for frames handed over; 0: at once
};

/// A scripted event: {segment, way, connection, PSN, nth, count, action}. The PSN counts from the requester's first.
struct ScriptedEvent {
  Number segment = kLongHaul;
  Number way = number_of(link::Way::a_to_b);
  Number connection = 0;
  Number of_answers = 0;  ///< the event is for answers: their flow runs against the way
  Number position = 0;    ///< ignored with `any_psn`
  Number any_psn = 0;
  Number nth = 1;
  Number count = 1;
  Number action = number_of(link::Action::drop);
  Number delay_us = 0;
};

/// One thing that a scripted tenant does: {verb, connection, value}. The verbs are in sim/attack_script.hpp.
struct AttackStep {
  Number verb = 0;
  Number connection = 0;
  Number value = 0;
};

/// A hostile neighbour of the hosts (sim/attacker.hpp), or none.
struct AttackPlan {
  Number kind = 0;       ///< 0: none; otherwise the number of an attack in the table (sim/attack_table.hpp), from 1
  Number at_us = 0;      ///< when it begins
  Number every_us = 20;  ///< between two steps
  Number steps = 500;    ///< what a step sends is the attack's affair
  Number bytes = 1024;   ///< payload of its requests, where it does not matter to the attack
  Number side = 0;       ///< where its requests come from: 0 A's side, 1 B's
  // Of a scripted tenant: the manners of its connections (sim/attack_connection.hpp).
  Number announced = 1;
  Number polite = 0;
  Number then = 0;  ///< Answer
  Number ack_timeout = 14;
};

struct Case {
  Number seed = 1;
  Number luck = 0;       ///< another random draw for frames, ports and timers; 0: the seed's own
  Number lane = 1;       ///< 0: the boxes' usual packets take the general path, as all others
  Number by_packet = 0;  ///< chance decides per nth copy of a packet, not per nth frame of a way
  Number connected = 0;  ///< QPs exist from the start: the boxes see no RDMA-CM
  Number connections = 1;
  Number apart_us = 300;     ///< between the starts of two connections
  Number psns_apart = 4096;  ///< between starting PSNs of two connections; 0: traffic alone does not tell them apart
  Number reject = 0;
  Number active_b = 0;  ///< host B sends the REQ
  Number close = number_of(Closing::a);
  Number close_at_us = 50000;  ///< for an early close
  Number reconnect = 0;        ///< this many times, with the same QPNs
  Number same_exchange = 0;    ///< and with the same communication IDs, transaction and PSNs
  // Lives of the same QPs that RDMA-CM does not announce: a server restarts, a device is created again.
  Number starts_us = 0;            ///< when the first connection begins
  Number come_back = 0;            ///< this many times
  Number come_back_us = 1000;      ///< after the end of the previous life
  Number come_back_qpns = 0;       ///< bit 0: A's QPN changes, bit 1: B's
  Number come_back_crosswise = 0;  ///< when all have ended, `apart_us` apart, and B's QPs swap QPNs
  Number come_back_psn = 0;        ///< offset from the previous life's starting PSN
  Number come_back_same = number_of(NextWork::same);
  Number leave_us = 0;  ///< a life ends this long after its start, done or not; 0: when it is done
  Number cm_timeout_us = 4300000;
  Number ipv6 = 0;
  Number vlans = 0;
  Number mtu = 3;  ///< code: 1 to 5 are 256 to 4096 bytes
  Number p_key = 0xffff;
  Number wan_delay_us = 1000;
  Number wan_delay_ns = 0;  ///< in addition
  Number wan_queue = 0;     ///< bytes before each transmitter of the long link
  Number wan_ecn = 0;       ///< bytes in this queue from which on frames are marked "congestion"; 0: none is
  Number wan_mbps = 0;
  Number line_overhead = 0;  ///< bytes that a frame takes on each line besides its own
  Number local_ns = 1000;    ///< from a host to its box
  Number outage_at_us = 0;
  Number outage_us = 0;
  Number outage_segment = kLongHaul;
  /// A router that takes a host's frames over the long link dies, and another takes its place. Frames that are still
  /// addressed to the dead router are lost. 0: no router dies.
  Number next_hop_dies_at_us = 0;
  Number next_hop_host = 0;  ///< 0 A, 1 B
  Number next_hop_told = number_of(NextHopNews::frames_of_host);
  Number give_up_ms = 60000;
  Number dreq_hold_ms = 3000;
  Number last_later_us = 0;  ///< the last connection begins this much later than the others' distance makes it
  /// Places that a box has for connections, for exchanges of RDMA-CM, for candidates of the traffic learner, and a
  /// quarter as many for held DREQs. 0: as many as a world without attacks needs.
  Number places = 0;
  AttackPlan attack;
  HostPlan a;
  HostPlan b;
  BoxPlan box_a;
  BoxPlan box_b;
  std::array<std::array<Harm, 2>, kSegments> harm;  ///< by segment and link::Way
  std::vector<ScriptedEvent> events;
  std::vector<AttackStep> script;  ///< of a scripted tenant, which begins again at its end
};

struct Knob {
  std::string name;
  std::size_t offset;  ///< of the Number within a Case
  Number calm;         ///< its value in a default Case
  Number least;
  Number most;

  Number& in(Case& c) const;
  Number in(const Case& c) const { return in(const_cast<Case&>(c)); }
};

/// Every knob, once.
const std::vector<Knob>& knobs();

std::string to_text(const Case& c);
/// `c` with the changes in the text. Throws std::invalid_argument, which names the first unknown word.
Case parse_case(std::string_view text, Case c = {});

/// How far the hosts are from their boxes: a NIC answers within a microsecond, a host of software within half a
/// millisecond, and much is under way to it meanwhile. Drawn apart, so that the rest of a seed's case does not change.
void draw_local(Case& c);

/// Whether boxes make CNPs, and keep those from the WAN. Drawn apart as well.
void draw_cnps(Case& c);

/// Adaptive routing between hosts and boxes, and perhaps on the long link: some packets are up to 100 us late. Drawn
/// apart, too, and only for some cases.
void draw_adaptive_routing(Case& c);

/// When boxes acknowledge unasked. Drawn apart as well.
void draw_unasked(Case& c);

/// A random case: calm in most respects and impaired in a few, so that a failure is informative.
Case draw_case(std::uint64_t seed);

/// A random case to run with boxes and without; deterministic unless `by_chance`.
Case draw_pair(std::uint64_t seed, bool by_chance);

/// A random case in which an attack of the table (from 1) meets hosts that have enough of everything without it: sized
/// so that a few hundred frames can use up what a box has. Everything else of the world is calm.
Case draw_attacked(std::uint64_t seed, Number attack);

/// `c`, and each of its hosts has the habits of a NIC family drawn at random (sim/nic_families.hpp). The draw is its
/// own: everything else of the case stays as it is.
Case with_random_nics(Case c);

/// `c`, and its boxes are peers (mostly), over a long haul that loses and reorders. The draw is its own.
Case with_random_peers(Case c);

/// `c` with a random attack. The draw is its own: everything else of the case stays as it is.
Case with_random_attack(Case c);

/// Cases that are simpler than `c` by one step each, the largest steps first.
std::vector<Case> simpler(const Case& c);

/// Between the hosts, without queues.
Duration round_trip(const Case& c);
/// An application closes before all is done.
bool closes_early(const Case& c);
/// The application on this host (0: A) closes the connection.
bool closes(const Case& c, unsigned host);
/// RDMA-CM sets up this life of a connection.
bool is_announced(const Case& c, unsigned generation);
/// Whether everything must be delivered and completed. Otherwise the world must only end.
bool must_complete(const Case& c);
/// A box loses its custody. The design has another rule for this.
bool loses_a_box(const Case& c);
/// A word for statistics.
std::string_view kind_of(const Case& c);

}  // namespace longhaul::sim
