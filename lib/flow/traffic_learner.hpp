// SPDX-License-Identifier: BSD-3-Clause
// Learns connections that RDMA-CM did not announce to this box (set up over TCP, or older than the box) from their
// traffic alone. A request names only the responder's QPN; the answers have the requester's. An ACK whose PSN is
// outstanding in exactly one candidate reveals the requester's QPN. A second ACK, whose MSN has grown by the messages
// counted between the two, confirms it. Where an ACK may be for either of two candidates, nothing is learned (design
// section 4): some stacks begin all their QPs with the same PSN, and a wrong guess would send pseudo-ACKs to the wrong
// QP. Nothing is learned either for a while after a candidate's PSNs have jumped, by a forged request or another life:
// answers for its former PSNs may still come.
//
// The UDP source port tells such QPs apart, where hosts derive it from both QPNs (wire/udp_source_port.hpp). Then the
// ACK and the requests that it answers have the same port, and it is the one derived from the responder's QPN and the
// QPN that the ACK goes to. An ACK names a candidate when all of this holds and no other candidate between the two
// hosts has that port. Its PSN and MSN must fit that candidate as ever. Ports that only look derived are rare, one in
// 2^28 pairs of QPNs, and hosts that choose their ports otherwise give themselves away: for a second after an ACK whose
// port is no candidate's, or is not derived from that candidate's QPN, ports count for nothing between the two hosts.
//
// Anyone can make candidates, so the cost of a frame must not grow with their number. The candidates between two hosts
// are in lists, one for each stretch of 2^18 PSNs. Those that an ACK may be for are in two neighbouring stretches. At
// most kLooks of each stretch are examined: where there are more, the ACK counts as ambiguous.
//
// Hosts share the places: where none is free, a candidate of two hosts that have more of them makes room. Between hosts
// whose candidate found no place, or lost it, nothing is learned for a while. Others do not feel it.
//
//   host                    box                                                          responder
//
//   requests to QPN 22 ---- PSN 100-103, AckReq on 103 --------------------------------->
//                           candidate for QPN 22: 100-103 outstanding; sample: 2 messages end by 103
//                      ---- PSN 104-107, AckReq on 107 --------------------------------->
//                           100-107 outstanding; sample: 5 messages end by 107
//                      <-------------------------- PSN 103, MSN 40 ---- first ACK, to QPN 11
//                           103 is outstanding in this candidate alone: its requester has QPN 11
//                      <-------------------------- PSN 107, MSN 43 ---- second ACK, to QPN 11
//                           43 - 40 = 5 - 2: learned. After any other MSN the candidate begins anew
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash_secret.hpp"
#include "base/time.hpp"
#include "flow/connection.hpp"
#include "flow/key_index.hpp"
#include "flow/port_lists.hpp"
#include "wire/frame.hpp"

namespace longhaul::flow {

enum class TrafficEvent : std::uint8_t {
  none,
  learned,       ///< `info` and the members after it describe a connection
  ambiguous,     ///< an ACK fitted more than one candidate, so it was not used
  contradicted,  ///< an ACK contradicted what an earlier one had revealed: that candidate begins again
};

struct TrafficOutcome {
  TrafficEvent event = TrafficEvent::none;
  ConnectionInfo info;         ///< starting PSNs, retry count and timeout stay unknown; path MTU 0 when not seen yet
  std::uint32_t una = 0;       ///< first PSN that the responder has not answered
  std::uint32_t msn = 0;       ///< the responder's MSN in its ACK for una - 1
  std::uint32_t next_psn = 0;  ///< first PSN that the requester has not used
  bool derived_port = false;   ///< requests and ACK have the UDP source port that is derived from both QPNs
};

class TrafficLearner {
 public:
  /// Follows up to `capacity` candidates. Throws std::runtime_error when the EAL has no memory for them.
  explicit TrafficLearner(std::uint32_t capacity);
  TrafficLearner(const TrafficLearner&) = delete;
  TrafficLearner& operator=(const TrafficLearner&) = delete;

  /// The box has watched the traffic since `now`, if not since earlier.
  void began(Time now) {
    if (now < began_) began_ = now;
  }

  /// A request from the host side, ICRC verified, of no known connection, or one that names a known connection but may
  /// be another's. `opcode` may be unknown. Returns false when there is no room to follow it.
  bool request(const wire::Frame& frame, Time now);

  /// An answer from the WAN side, ICRC verified, to a QPN of no known connection.
  TrafficOutcome answer(const wire::Frame& frame, Time now);

  /// A learned connection is known from now on, and its requests do not come here any more. Without this call it stays
  /// a candidate, so that no other is learned in its place.
  void forget(const ConnectionInfo& info);

  /// Requests to the responder of `info` have passed lately.
  bool has_seen(const ConnectionInfo& info, Time now) const;

  /// An ACK for `psn`, to the near QPN of `info`, may answer a candidate with another responder. With `since`, only
  /// candidates that have begun, or begun again, after that time count.
  bool may_be_meant(const ConnectionInfo& info, std::uint32_t psn, Time now, std::optional<Time> since = std::nullopt);
  /// As may_be_meant(), of an ACK with the UDP source port derived from the QPNs of `info`, whose hosts derive their
  /// ports so: only candidates whose port is also derived from the QPN of its requester may have it.
  bool shares_port(const ConnectionInfo& info, std::uint32_t psn, Time now,
                   std::optional<Time> since = std::nullopt) const;

  /// A candidate between the hosts of `info` found no place lately, or lost its place: an ACK may answer requests that
  /// are not known here.
  bool lacks_room(const ConnectionInfo& info, Time now) const;
  /// As lacks_room(), or a candidate between these hosts has just jumped far away: an answer may be for its former
  /// requests.
  bool is_blind(const ConnectionInfo& info, Time now) const;

  /// Forgets all candidates: frames have passed that did not come here.
  void start_anew(Time now);

  /// After this long without a request a candidate no longer counts: its requester has given up.
  static constexpr Duration kCandidateLife = seconds(60);

  /// No ACK is used for this long after the learner began, or had no room for a candidate between the same hosts: it
  /// may answer requests that did not pass here.
  static constexpr Duration kBlind = seconds(1);

  /// No requester has more PSNs under way: older requests have been answered, on another path or unseen.
  static constexpr std::int32_t kMaxOutstanding = 1 << 16;

  /// An ACK for `psn` may be for a candidate whose next PSN is within (psn + kMeantFrom, psn + kMeantTo].
  static constexpr std::int32_t kMeantFrom = -kMaxOutstanding;
  static constexpr std::int32_t kMeantTo = 2 * kMaxOutstanding;

  static constexpr unsigned kStretchBits = 18;  ///< a stretch has 2^18 PSNs: two contain all that an ACK may be for

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kSamples = 64;
  static constexpr std::size_t kStretches = std::size_t{1} << (24 - kStretchBits);
  static constexpr unsigned kLooks = 8;  ///< candidates of a stretch that an ACK is compared with
  static constexpr unsigned kNoRoomBits = 14;

  /// A request that asked for an ACK.
  struct Sample {
    std::uint32_t psn;
    std::uint32_t messages;  ///< completed with it, counted from where the candidate began
  };
  struct Candidate {
    // What an ACK is compared with is kept together.
    Time last_request = 0;
    Time began = 0;         ///< when it came to its present PSNs, or when an answered request was last repeated
    std::uint32_t low = 0;  ///< [low, next) is outstanding
    std::uint32_t next = 0;
    std::uint32_t top = 0;  ///< end of what was outstanding before a small step back; else `next`
    bool counting = false;  ///< low, next and messages are valid
    bool revealed = false;  ///< requester_qpn, first_msn and first_messages are valid
    bool in_use = false;
    std::uint32_t after = kNone;  ///< neighbours in the list of its stretch
    std::uint32_t before = kNone;
    std::uint32_t stretch = kNone;  ///< kNone: in no list
    std::uint32_t pair = kNone;

    wire::IpAddress requester;
    wire::IpAddress responder;
    wire::VlanKey vlan;
    std::uint32_t responder_qpn = 0;
    std::uint32_t path_mtu = 0;
    std::uint32_t messages = 0;
    std::uint32_t requester_qpn = 0;
    std::uint32_t first_msn = 0;
    std::uint32_t first_messages = 0;
    std::uint32_t stride = 1;  ///< one sample for this many requests with AckReq
    std::uint32_t skipped = 0;
    std::uint16_t port = 0;                ///< UDP source port of all its requests; valid when `listed`
    bool listed = false;                   ///< in the list of `port`
    std::array<Sample, kSamples> samples;  ///< by PSN
    std::size_t sample_count = 0;

    void add(const wire::Frame& frame, std::uint32_t psns);
    bool outstanding(std::uint32_t psn) const;
    bool may_be_meant(std::uint32_t psn) const;
    std::optional<std::uint32_t> messages_at(std::uint32_t psn) const;
    void answered(std::uint32_t psn);
  };
  /// Two hosts, and the candidates between them by the stretch that `next` lies in.
  struct Pair {
    std::array<std::uint32_t, kStretches> first;  ///< of each list
    std::uint32_t candidates = 0;
    Time blind_until = 0;         ///< a candidate's PSNs have jumped far: answers for the former ones may still come
    Time no_room_until = 0;       ///< as in no_room_until_
    Time ports_differ_until = 0;  ///< hosts do not derive ports from QPNs: ports count for nothing
  };

 public:
  /// Ordinary memory for each of `capacity`, besides kIndexes KeyIndex entries.
  static constexpr std::size_t kBytesPerCandidate =
      sizeof(Candidate) + sizeof(Pair) + sizeof(std::uint32_t) + PortLists::kBytesPerMember;
  static constexpr unsigned kIndexes = 4;
  /// And for the whole learner.
  static constexpr std::size_t kBytes = (std::size_t{1} << kNoRoomBits) * sizeof(Time);

 private:
  struct Fit {
    Candidate* only = nullptr;   ///< the candidate that has the PSN outstanding
    std::uint32_t pair = kNone;  ///< of the hosts
    unsigned count = 0;          ///< how many the ACK may be for; counts to 2 at most
    bool no_room = false;        ///< the ACK is not used: requests have passed that are not known here
  };

  static KeyIndex::KeyView request_key(const Candidate& candidate);
  static KeyIndex::KeyView answer_key(const Candidate& candidate);
  static KeyIndex::KeyView pair_key(const Candidate& candidate);
  static KeyIndex::KeyView port_key(const Candidate& candidate);
  Candidate* candidate_of(const wire::Frame& request, Time now);
  Candidate* admit(const wire::Frame& request, Time now);
  Candidate* place_for(const KeyIndex::KeyView& pair_key, Time now);
  std::size_t no_room_slot(const KeyIndex::KeyView& pair_key) const;
  bool lacks_room(const KeyIndex::KeyView& pair_key, Time now) const;
  void note_no_room(const KeyIndex::KeyView& pair_key, Time now);
  bool enter_pair(Candidate& candidate);
  void leave_pair(Candidate& candidate);
  void place(Candidate& candidate);
  void displace(Candidate& candidate);
  void drop(Candidate& candidate);
  void follow(Candidate& candidate, const wire::Frame& request, Time now);
  bool jump(Candidate& candidate, std::uint32_t psn, bool countable, Time now);
  [[gnu::noinline]] bool leap(Candidate& candidate, std::uint32_t psn, bool countable, Time now);
  void begin(Candidate& candidate, std::uint32_t psn);
  void uncounted(Candidate& candidate, std::uint32_t psn);
  void list(Candidate& candidate, std::uint16_t port);
  void unlist(Candidate& candidate);
  [[gnu::noinline]] void port_changed(Candidate& candidate, std::uint16_t port, Time now);
  static bool names(const wire::Frame& answer, const Candidate& candidate);
  [[gnu::noinline]] Candidate* named_by_port(const wire::Frame& answer, std::uint32_t pair, Time now);
  bool reveal(Candidate& candidate, std::uint32_t requester_qpn);
  void conceal(Candidate& candidate);
  Candidate* revealed_by(const wire::Frame& answer, Time now);
  /// Only candidates between the two hosts for which the predicate `counts` is true.
  template <typename Counts>
  Fit fit_of(const KeyIndex::KeyView& pair_key, std::uint32_t psn, Time now, bool may_be_blind, Counts counts);
  TrafficOutcome acknowledge(const wire::Frame& frame, Time now);
  static TrafficOutcome learned(const Candidate& candidate, std::uint32_t msn);
  std::uint32_t index_of(const Candidate& candidate) const {
    return static_cast<std::uint32_t>(&candidate - candidates_.data());
  }

  std::vector<Candidate> candidates_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> free_pairs_;
  KeyIndex by_request_;
  KeyIndex by_answer_;  ///< revealed candidates, by the key of their answers
  KeyIndex by_pair_;
  PortLists by_port_;
  std::uint32_t clock_hand_ = 0;
  Time began_ = kNever;
  Time blind_until_ = 0;  ///< for all hosts: the learner began anew
  /// By the hash of two hosts, until when no ACK between them is used, for want of room. Hosts that share a slot share
  /// its time. Most of the time all of them have passed.
  std::vector<Time> no_room_until_;
  Time last_no_room_until_ = 0;  ///< the latest of them
  std::uint64_t secret_ = hash_secret();
};

}  // namespace longhaul::flow
