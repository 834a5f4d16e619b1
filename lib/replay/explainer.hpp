// SPDX-License-Identifier: BSD-3-Clause
// Why each connection of a capture was accelerated, or was not: how it was learned, when it was confirmed, and for what
// its requests passed plain. Stands between the engine and the comparison of ACKs, and tells the latter everything.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/plain_cause.hpp"
#include "base/side.hpp"
#include "custody/observer.hpp"
#include "engine/engine.hpp"
#include "replay/near_hosts.hpp"
#include "wire/frame.hpp"

namespace longhaul::replay {

/// The requests of one direction of a connection, as far as the capture and the box tell.
struct Explained {
  wire::IpAddress requester, responder;
  wire::VlanKey vlan;
  std::uint32_t responder_qpn = 0;
  std::optional<std::uint32_t> requester_qpn;  ///< nothing: the box never learned it
  bool near = false;                           ///< the requester is on the host port's side
  bool divided = false;                        ///< and the responder on the other
  std::uint64_t first_frame = 0, last_frame = 0;
  std::uint64_t requests = 0;      ///< frames, repeats included
  std::uint64_t ack_requests = 0;  ///< SENDs and WRITEs with AckReq among them
  std::uint64_t damaged = 0;       ///< wrong ICRC
  std::optional<std::uint64_t> learned_frame;
  bool from_traffic = false;
  std::optional<std::uint64_t> confirmed_frame;
  std::uint64_t pseudo_acks = 0;
  ByPlainCause<std::uint32_t> plain{};  ///< SENDs and WRITEs with AckReq that passed plain
  std::optional<flow::EceExchange> ece;
  std::string_view state;   ///< its phase at the end, or when it ended; empty: unknown to the box
  bool closed = false;      ///< the box has seen its end
  std::string_view reason;  ///< for programs: "accelerated", a plain cause, or why it stayed unknown
  std::string why;          ///< the same for people
  /// What happened to it besides, such as "doubted"; the first ones.
  struct Event {
    std::uint64_t frame = 0;
    std::string what;
  };
  std::vector<Event> events;
};

class Explainer final : public custody::Observer {
 public:
  /// All must outlive the explainer. `next` hears what the engine says.
  Explainer(const NearHosts& near, custody::Observer& next) : near_(near), next_(next) {}
  /// Before the first frame: the engine that calls this observer.
  void watch(const engine::Engine& engine) { engine_ = &engine; }

  /// Brackets the engine's handling of a frame; `parsed` is null if the frame is not RoCE.
  void begin_frame(std::uint64_t number, const wire::Frame* parsed, bool icrc_ok);
  void end_frame();
  /// In the order of their first frames. Call once, after the last frame.
  const std::vector<Explained>& finish();
  /// Connections that are not listed because there were too many.
  std::uint64_t unlisted() const { return unlisted_; }

  void on_pseudo_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, Time now) override;
  void on_real_ack(const custody::FlowIdentity& flow, const custody::AckFields& ack, bool confirmed,
                   std::uint32_t frontier, Time now) override;
  void on_flow_learned(const custody::FlowIdentity& flow, Time now) override;
  void on_flow_failed(const custody::FlowIdentity& flow, std::string_view why, std::uint64_t bytes, Time now) override;
  void on_doubted(const custody::FlowIdentity& flow, Time now) override;
  void on_resumed(const custody::FlowIdentity& flow, Time now) override;
  void on_began_again(const custody::FlowIdentity& flow, Time now) override;
  void on_unconfirmed_at_close(const custody::FlowIdentity& flow, std::uint64_t packets, std::uint64_t bytes,
                               Time now) override;
  void on_flow_closed(const custody::FlowIdentity& flow, std::uint64_t packets_left, Time now) override;

 private:
  using Key = std::tuple<std::uint32_t, std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>, std::uint32_t>;
  using Hosts = std::tuple<std::uint32_t, std::array<std::uint8_t, 16>, std::array<std::uint8_t, 16>>;
  /// Answers from one host to another, which may be any connection's.
  struct Answers {
    std::uint64_t frames = 0;
    std::uint64_t ambiguous = 0;
  };

  Explained* entry(const wire::IpAddress& requester, const wire::IpAddress& responder, wire::VlanKey vlan,
                   std::uint32_t responder_qpn, bool anew);
  Explained* entry_of(const custody::FlowIdentity& flow);
  void note(const custody::FlowIdentity& flow, std::string what);
  void look();
  void take(const engine::ConnectionState& state);
  void judge(Explained& of) const;

  const NearHosts& near_;
  custody::Observer& next_;
  const engine::Engine* engine_ = nullptr;
  std::uint64_t frame_ = 0;
  wire::VlanKey vlan_;
  const wire::Frame* parsed_ = nullptr;
  std::uint64_t ambiguous_before_ = 0;
  std::uint64_t changes_before_ = 0;
  std::uint64_t unlisted_ = 0;
  std::vector<Explained> all_;
  std::map<Key, std::size_t> index_;  ///< the newest of each key
  std::map<std::uint64_t, std::size_t> by_serial_;
  std::map<Hosts, Answers> answers_;             ///< by requester's and responder's addresses
  std::vector<engine::ConnectionState> states_;  ///< reused
};

/// JSON of what finish() gave, and text of it for people.
nlohmann::ordered_json explained_json(const std::vector<Explained>& all, std::uint64_t unlisted);
std::string explained_text(const std::vector<Explained>& all, std::uint64_t unlisted);

}  // namespace longhaul::replay
