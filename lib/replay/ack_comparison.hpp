// SPDX-License-Identifier: BSD-3-Clause
// Compares each pseudo-ACK with the real ACK that the capture holds for the same PSN.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/side.hpp"
#include "custody/observer.hpp"
#include "replay/fates.hpp"
#include "replay/request_history.hpp"

namespace longhaul::replay {

/// A real ACK that differs from the pseudo-ACK for the same PSN.
struct Mismatch {
  std::uint64_t frame = 0;
  custody::FlowIdentity flow;
  std::uint32_t psn = 0;
  std::string field;  ///< destination_qpn, msn, syndrome or p_key
  std::uint32_t real = 0;
  std::uint32_t pseudo = 0;
};

/// A real ACK of a confirmed flow without a pseudo-ACK for its PSN, and what in the capture explains this.
struct Unmatched {
  std::uint64_t frame = 0;
  custody::FlowIdentity flow;
  std::uint32_t psn = 0;
  std::uint32_t frontier = 0;       ///< h before the ACK
  std::uint64_t request_frame = 0;  ///< first arrival of the request; 0: none
  std::string reason;
};

/// What became of the real ACK in a frame.
struct AckVerdict {
  enum class Kind : std::uint8_t {
    none,            ///< the frame has none
    not_comparable,  ///< its flow is not confirmed, or not accelerated
    equal,           ///< to the pseudo-ACK for its PSN, which may tell fewer credits
    differs,
    unmatched,  ///< there is no pseudo-ACK for its PSN
  };
  Kind kind = Kind::none;
  std::string text;  ///< "equal", how it differs, or why there is no pseudo-ACK
};

struct FlowReport {
  enum class End : std::uint8_t { open, orderly, custody_left };
  custody::FlowIdentity flow;
  bool confirmed = false;
  std::uint64_t requests = 0;  ///< request frames of the flow's requester, repeats included
  std::uint64_t pseudo_acks = 0;
  std::uint64_t real_acks = 0;
  std::uint64_t matched = 0;
  std::uint64_t mismatched = 0;
  std::uint64_t unmatched = 0;
  End end = End::open;
  std::uint64_t custody_left = 0;  ///< packets in custody when the flow ended
};

/// What a replay says of its pseudo-ACKs.
class AckComparison final : public custody::Observer {
 public:
  /// With `comparing` false (no flow has the policy full) every real ACK counts as forwarded.
  explicit AckComparison(bool comparing) : comparing_(comparing) {}
  bool comparing() const { return comparing_; }

  /// Brackets the engine's handling of a frame of the capture. `parsed` is null if the frame is not RoCE.
  void begin_frame(std::uint64_t number) {
    frame_ = number;
    told_ = false;
    verdict_.kind = AckVerdict::Kind::none;
  }
  void end_frame(const wire::Frame* parsed, Side side, bool icrc_ok, const Fates& fates);

  void on_pseudo_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, Time now) override;
  void on_real_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, bool confirmed,
                   std::uint32_t frontier, Time now) override;
  void on_flow_learned(const custody::FlowIdentity& flow, Time now) override;
  void on_waited_in_vain(const custody::FlowIdentity& flow, std::span<const std::uint8_t> frame) override;
  void on_flow_closed(const custody::FlowIdentity& flow, std::uint64_t packets_left, Time now) override;

  std::uint64_t real_acks = 0;  ///< = matched + mismatched + unmatched + forwarded
  std::uint64_t real_acks_matched = 0;
  std::uint64_t real_acks_mismatched = 0;
  std::uint64_t real_acks_unmatched = 0;
  std::uint64_t real_acks_forwarded = 0;  ///< of flows not yet confirmed, or not accelerated
  std::vector<Mismatch> mismatches;
  std::vector<Unmatched> unmatched;

  /// Of the frame that end_frame() was called for last.
  const AckVerdict& verdict() const { return verdict_; }
  /// The request that an ACK answers, and the one that has the place of this request; null if the capture shows none.
  const Seen* request_answered_by(const wire::Frame& answer) const;
  const Seen* request_like(const wire::Frame& request) const;

  /// The requests that waited beyond a gap before they were dropped, in the order in which that happened.
  const std::vector<std::vector<std::uint8_t>>& waited_in_vain() const { return waited_in_vain_; }

  /// In the order in which the engine learned them.
  std::vector<FlowReport> flows() const;

 private:
  struct Flow {
    FlowReport report;
    RequestHistory history;
    std::map<std::uint32_t, custody::AckFields> pseudo;  ///< by PSN; a PSN used again after 2^24 replaces the old one
    std::uint32_t frontier = 0;                          ///< the last h that the engine reported
    std::optional<std::uint32_t> acked_before_confirmation;  ///< highest PSN
    std::optional<std::uint32_t> acked_by_responder_first;   ///< highest PSN at or above h when its ACK arrived
  };
  using Ends = std::tuple<std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>, std::uint32_t>;

  Flow& flow_of(const custody::FlowIdentity& flow);
  const Flow* flow_at(const std::map<Ends, std::uint64_t>& index, const wire::Frame& frame) const;
  Flow* flow_at(const std::map<Ends, std::uint64_t>& index, const wire::Frame& frame);
  /// Compares an ACK that the engine did not report, because its PSN was never forwarded.
  void compare_untold(Flow& flow, const wire::Frame& frame);
  void compare(Flow& flow, const custody::AckFields& real, const custody::AckFields& pseudo);
  std::string reason_for(const Flow& flow, std::uint32_t psn, std::uint32_t frontier) const;

  bool comparing_;
  std::uint64_t frame_ = 0;
  AckVerdict verdict_;
  std::vector<std::vector<std::uint8_t>> waited_in_vain_;
  bool told_ = false;                    ///< the engine has reported a real ACK in this frame
  std::map<std::uint64_t, Flow> flows_;  ///< by serial
  // The newest flow's serial by the addresses in its frames: source, destination, destination QPN.
  std::map<Ends, std::uint64_t> by_request_;
  std::map<Ends, std::uint64_t> by_answer_;
};

}  // namespace longhaul::replay
