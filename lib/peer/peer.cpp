// SPDX-License-Identifier: BSD-3-Clause
#include "peer/peer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace longhaul::peer {
namespace {

// A session ends long before its worker 0 has no numbers left.
constexpr std::uint32_t kLastSequence = 0xffff0000;

/// Of an INIT or a RESPONSE. Epoch 0 would stand for "not known".
template <typename Body>
bool is_sound(const Body& body) {
  return body.workers >= 1 && body.workers <= kMostWorkers && body.epoch != 0;
}

}  // namespace

Peer::Peer(std::uint32_t number, const Self& self, PeerSettings settings, PeerHost& host, const Random& random,
           Time now)
    : number_(number),
      self_(self),
      settings_(std::move(settings)),
      host_(host),
      random_(random),
      init_at_(now),
      changed_at_(now) {
  random_(challenge_secret_);
  report_.name = settings_.name;
  report_.address = settings_.address;
}

std::uint64_t Peer::random_number() const {
  std::uint64_t number = 0;
  random_({reinterpret_cast<std::uint8_t*>(&number), sizeof(number)});
  return number;
}

// The duration, as much longer or shorter as chance says.
Duration Peer::about(Duration duration, unsigned percent) const {
  const Duration most = duration * percent / 100;
  return duration - most + random_number() % (2 * most + 1);
}

const PreSharedKey* Peer::key_of(Cookie id) const {
  const auto found = std::ranges::find(settings_.keys, id, &PreSharedKey::id);
  return found == settings_.keys.end() ? nullptr : &*found;
}

void Peer::send(const std::vector<std::uint8_t>& datagram, Time now) {
  ++report_.sent;
  host_.send(settings_.address, datagram, up_ ? Way::works : Way::doubtful, now);
}

// ---- handshake ----------------------------------------------------------------------------------

void Peer::send_handshake(Type type, Cookie cookie, Bytes body, const Key& key, Time now) {
  std::vector<std::uint8_t> datagram =
      datagram_of({kHandshakeVersion, static_cast<std::uint8_t>(type), 0, 0, cookie}, body);
  seal(datagram, key, {self_.address, settings_.address});
  send(datagram, now);
}

void Peer::begin_handshake(Time now) {
  Init body{};
  body.token = random_number();
  random_(body.nonce);
  body.epoch = self_.epoch;
  body.lowest_version = self_.lowest_version;
  body.highest_version = self_.highest_version;
  body.workers = self_.workers;
  body.features = self_.features;
  opening_.emplace(Opening{settings_.keys.front(), body});
  send_handshake(Type::init, opening_->key.id(), bytes_of(body), opening_->key.hello(), now);
  init_at_ = now + about(retry_, 20);
  retry_ = std::min(2 * retry_, kLastRetry);
}

std::optional<std::uint8_t> Peer::common_version(const Init& init) const {
  const std::uint8_t version = std::min(init.highest_version, self_.highest_version);
  if (version < std::max(init.lowest_version, self_.lowest_version)) return std::nullopt;
  return version;
}

// The same for the same INIT, until the counter moves on: nothing need be remembered of it.
Response Peer::response_to(Bytes init, std::uint8_t version) const {
  Response response{};
  response.counter = counter_;
  hash_into(response.nonce, challenge_secret_, {bytes_of(response.counter), init, settings_.address.bytes});
  response.epoch = self_.epoch;
  response.version = version;
  response.workers = self_.workers;
  response.features = self_.features;
  return response;
}

void Peer::take_init(const Datagram& datagram, Time now) {
  const Init* init = datagram.body_as<Init>();
  if (init == nullptr || datagram.body().size() > kMostInit || !is_sound(*init)) return drop(Drop::malformed);
  const PreSharedKey* key = key_of(datagram.header().cookie);
  if (key == nullptr) return drop(Drop::unknown_key);
  if (!inits_.take(now)) return drop(Drop::too_many);
  if (!datagram.is_authentic(key->hello(), {settings_.address, self_.address})) return drop(Drop::forged);
  const std::optional<std::uint8_t> version = common_version(*init);
  if (!version) {
    drop(Drop::no_common_version);
    send_handshake(Type::refuse, init->token, bytes_of(Refuse{self_.lowest_version, self_.highest_version}),
                   key->hello(), now);
    return;
  }
  send_handshake(Type::response, init->token, bytes_of(response_to(datagram.body(), *version)), key->hello(), now);
}

void Peer::take_response(const Datagram& datagram, Time now) {
  const Response* response = datagram.body_as<Response>();
  // Not longer than what it answers: CONFIRM has room for that.
  if (response == nullptr || datagram.body().size() > sizeof(Init) || !is_sound(*response))
    return drop(Drop::malformed);
  if (!opening_ || datagram.header().cookie != opening_->body.token) return drop(Drop::stale_handshake);
  if (!answers_.take(now)) return drop(Drop::too_many);
  if (!datagram.is_authentic(opening_->key.hello(), {settings_.address, self_.address})) return drop(Drop::forged);
  if (response->version < self_.lowest_version || response->version > self_.highest_version)
    return drop(Drop::no_common_version);
  const Path outgoing{self_.address, settings_.address};
  const Bytes init = bytes_of(opening_->body);
  const SessionKeys keys(opening_->key, init, datagram.body(), outgoing);
  const Agreed agreed{response->version, response->epoch, response->workers, response->features & self_.features,
                      opening_->key.id()};
  unconfirmed_ = {};
  unconfirmed_.session = std::make_unique<Session>(keys, Role::initiator, self_.workers, agreed, outgoing, now);
  const Confirm head{opening_->key.id(), static_cast<std::uint16_t>(init.size())};
  for (const Bytes part : {bytes_of(head), init, datagram.body()})
    unconfirmed_.confirm.insert(unconfirmed_.confirm.end(), part.begin(), part.end());
  opening_.reset();
  send_confirm(now);
}

void Peer::send_confirm(Time now) {
  send(unconfirmed_.session->seal(Type::confirm, unconfirmed_.confirm), now);
  ++unconfirmed_.sent;
  unconfirmed_.again_at = now + kConfirmAgain;
}

void Peer::take_confirm(const Datagram& datagram, Time now) {
  const Confirm* head = datagram.body_as<Confirm>();
  if (head == nullptr) return drop(Drop::malformed);
  const Bytes bodies = datagram.body().subspan(sizeof(Confirm));
  if (head->init_bytes < sizeof(Init) || bodies.size() < std::size_t{head->init_bytes} + sizeof(Response))
    return drop(Drop::malformed);
  const Bytes init_bytes = bodies.first(head->init_bytes);
  const auto& init = *reinterpret_cast<const Init*>(init_bytes.data());
  if (!is_sound(init)) return drop(Drop::malformed);
  const PreSharedKey* key = key_of(head->key_id);
  if (key == nullptr) return drop(Drop::unknown_key);
  const std::optional<std::uint8_t> version = common_version(init);
  if (!version) return drop(Drop::no_common_version);
  if (!confirms_.take(now)) return drop(Drop::too_many);
  // This box's own body, made anew: with another counter, or of another life, it is a different one.
  const Response own = response_to(init_bytes, *version);
  const Bytes response = bodies.subspan(init_bytes.size(), sizeof(Response));
  if (!std::ranges::equal(bytes_of(own), response)) return drop(Drop::stale_handshake);
  const Path incoming{settings_.address, self_.address};
  const SessionKeys keys(*key, init_bytes, response, incoming);
  if (datagram.header().cookie != keys.cookie_to(Role::responder)) return drop(Drop::unknown_cookie);
  const Agreed agreed{*version, init.epoch, init.workers, init.features & self_.features, key->id()};
  // Before all its keys are made: somebody may have kept it back and spoilt its tag.
  if (datagram.header().worker != 0 || !datagram.is_authentic(keys.sending(Role::initiator, 0), incoming))
    return drop(Drop::forged);
  auto session = std::make_unique<Session>(keys, Role::responder, self_.workers, agreed, incoming.reversed(), now);
  if (session->open(datagram, now) != Opened::accepted) return drop(Drop::replayed);
  ++report_.received;
  establish(std::move(session), now);
  lives(now);
  send_keepalive(*sessions_.back(), now);
}

void Peer::take_refuse(const Datagram& datagram, Time now) {
  const Refuse* refuse = datagram.body_as<Refuse>();
  if (refuse == nullptr) return drop(Drop::malformed);
  if (!opening_ || datagram.header().cookie != opening_->body.token) return drop(Drop::stale_handshake);
  if (!answers_.take(now)) return drop(Drop::too_many);
  if (!datagram.is_authentic(opening_->key.hello(), {settings_.address, self_.address})) return drop(Drop::forged);
  ++report_.received;
  report_.its_lowest = refuse->lowest_version;
  report_.its_highest = refuse->highest_version;
  opening_.reset();
  retry_ = kLastRetry;
  init_at_ = now + about(retry_, 20);
}

// ---- sessions -----------------------------------------------------------------------------------

// All that the box sends goes on the new session from here on. The peer's epoch may be another one: then it remembers
// nothing of older sessions.
void Peer::establish(std::unique_ptr<Session> session, Time now) {
  const std::uint64_t epoch = session->agreed().peer_epoch;
  if (report_.epoch != 0 && report_.epoch != epoch) {
    ++report_.restarts;
    sessions_.clear();
    report_.round_trip = 0;
    its_clock_ = 0;
  }
  // What comes late on it must not bring the former life back.
  if (unconfirmed_.session != nullptr && unconfirmed_.session->agreed().peer_epoch != epoch) unconfirmed_ = {};
  report_.epoch = epoch;
  report_.least_round_trip = 0;
  // A CONFIRM that somebody has kept back is worth nothing from here on.
  ++counter_;
  ++report_.handshakes;
  report_.its_lowest = report_.its_highest = 0;
  if (session->agreed().key_id == settings_.keys.front().id()) key_changed_ = false;
  if (sessions_.size() == kMostSessions)
    sessions_.erase(std::ranges::min_element(sessions_, {}, [](const auto& held) { return held->heard_at(); }));
  sessions_.push_back(std::move(session));
  established_at_ = now;
  renew_at_ = now + about(kRenew, 10);
  keepalive_at_ = now;
}

void Peer::receive(Bytes bytes, Time now) {
  Datagram datagram;
  if (!datagram.take(bytes)) return drop(Drop::malformed);
  const Header& header = datagram.header();
  const bool handshake = header.type < kFirstSessionType;
  if (handshake && header.version != kHandshakeVersion) return drop(Drop::malformed);
  const bool hello = datagram.is(Type::init) || datagram.is(Type::response) || datagram.is(Type::refuse);
  if (hello ? header.worker != 0 || header.sequence != 0 : handshake && !datagram.is(Type::confirm))
    return drop(Drop::malformed);
  if (datagram.is(Type::init)) return take_init(datagram, now);
  if (datagram.is(Type::response)) return take_response(datagram, now);
  if (datagram.is(Type::refuse)) return take_refuse(datagram, now);
  const Cookie cookie = header.cookie;
  if (unconfirmed_.session != nullptr && unconfirmed_.session->cookie() == cookie)
    return take_of_session(datagram, *unconfirmed_.session, now);
  for (const auto& session : sessions_)
    if (session->cookie() == cookie) return take_of_session(datagram, *session, now);
  if (datagram.is(Type::confirm)) return take_confirm(datagram, now);
  drop(Drop::unknown_cookie);
}

void Peer::take_of_session(const Datagram& datagram, Session& session, Time now) {
  const bool handshake = datagram.header().type < kFirstSessionType;
  if (!handshake && datagram.header().version != session.agreed().version) return drop(Drop::malformed);
  switch (session.open(datagram, now)) {
    case Opened::unknown_worker:
      return drop(Drop::unknown_worker);
    case Opened::replayed:
      return drop(Drop::replayed);
    case Opened::forged:
      return drop(Drop::forged);
    case Opened::accepted:
      break;
  }
  ++report_.received;
  if (&session == unconfirmed_.session.get()) {
    // It answers the CONFIRM, so it cannot be old.
    establish(std::move(unconfirmed_.session), now);
    unconfirmed_ = {};
    lives(now);
  }
  // Only a KEEPALIVE tells how old it is, so nothing else is a sign of life.
  if (datagram.is(Type::confirm)) {
    // Its sender has not heard that the session is established.
    send_keepalive(session, now);
  } else if (datagram.is(Type::keepalive)) {
    const Keepalive* said = datagram.body_as<Keepalive>();
    if (said == nullptr) return drop(Drop::malformed);
    const Sign sign = take_keepalive(*said, session, now);
    if (sign == Sign::unheard) unheard_at_ = now;
    if (sign == Sign::late) return drop(Drop::late);
    if (sign == Sign::life) lives(now);
  } else if (datagram.is(Type::bye)) {
    const Bye* bye = datagram.body_as<Bye>();
    if (bye == nullptr) return drop(Drop::malformed);
    const ByeReason reason = bye->reason;
    std::erase_if(sessions_, [&session](const auto& held) { return held.get() == &session; });
    if (!sessions_.empty()) return;
    DownCause cause = DownCause::stopped;
    if (reason == ByeReason::peer_removed) cause = DownCause::removed_us;
    if (reason == ByeReason::key_removed) cause = DownCause::key_removed;
    go_down(cause, now);
  } else if (datagram.header().type >= kFirstCarriedType && up_ && session.agreed().repairs()) {
    take_carried(datagram, session.agreed());
  }
}

void Peer::take_carried(const Datagram& datagram, const Agreed& agreed) {
  Carried message{datagram.header().worker, 0, datagram.header().type, datagram.body()};
  if (agreed.workers_repair()) {
    const Addressed* addressed = datagram.body_as<Addressed>();
    if (addressed == nullptr) return drop(Drop::malformed);
    message.to = addressed->to;
    message.body = message.body.subspan(sizeof(Addressed));
    if (message.to != kToAll && message.to >= self_.workers) return drop(Drop::malformed);
  } else if (message.from != 0) {
    return drop(Drop::malformed);
  }
  host_.carried(number_, message);
}

void Peer::carry(const Carried& message, Time now) {
  Session& session = current();
  std::vector<std::uint8_t> addressed;
  Bytes body = message.body;
  if (session.agreed().workers_repair()) {
    const Addressed whom{message.to};
    const Bytes to = bytes_of(whom);
    addressed.reserve(to.size() + body.size());
    addressed.insert(addressed.end(), to.begin(), to.end());
    addressed.insert(addressed.end(), body.begin(), body.end());
    body = addressed;
  }
  send(session.seal(static_cast<Type>(message.type), body, message.from), now);
}

// ---- up and down ----------------------------------------------------------------------------------

void Peer::lives(Time now) {
  heard_at_ = now;
  if (up_) return;
  up_ = true;
  changed_at_ = now;
  retry_ = kFirstRetry;
}

void Peer::go_down(DownCause cause, Time now) {
  if (!up_) return;
  up_ = false;
  changed_at_ = now;
  report_.down_cause = cause;
  ++report_.went_down;
  report_.dropped_lately = {};
  retry_ = kFirstRetry;
  init_at_ = now;
}

// A KEEPALIVE is no sign of life where its sender has not heard of this box for the time of gone: the way there is cut,
// and "up" is to mean both ways. Nor where somebody on the way keeps datagrams back: then the peer may be gone. One
// that another has overtaken has an older echo, whose round trip is as true.
Peer::Sign Peer::take_keepalive(const Keepalive& said, const Session& session, Time now) {
  if (said.clock > its_clock_) {
    its_clock_ = said.clock;
    its_clock_at_ = now;
  }
  const std::uint64_t went = said.echo;
  const Duration held = said.held;
  // The first ones have nothing to echo.
  if (went == 0) return now - session.made_at() > kGoneAtMost ? Sign::unheard : Sign::life;
  if (held > gone_after()) return Sign::unheard;
  if (went > now) return Sign::late;
  const Duration since = now - went;
  if (since < held) {
    // It is measured by two clocks, which need not run at one rate.
    return held - since <= kClocksDiffer + held / kClocksDifferPart ? Sign::life : Sign::late;
  }
  const Duration round_trip = since - held;
  if (round_trip > kMostRoundTrip) return Sign::late;
  constexpr Duration kPart = 8;
  Duration& smoothed = report_.round_trip;
  smoothed = smoothed == 0 ? round_trip : (smoothed * (kPart - 1) + round_trip) / kPart;
  Duration& least = report_.least_round_trip;
  least = least == 0 ? round_trip : std::min(least, round_trip);
  return Sign::life;
}

Time Peer::end_of(const Session& older) const { return std::max(established_at_, older.heard_at()) + kUnused; }

Time Peer::wants_handshake_at() const {
  const bool at_once = !up_ || key_changed_ || current().sent() >= kRenewSequence;
  return at_once ? init_at_ : std::max(renew_at_, init_at_);
}

Duration Peer::gone_after() const { return std::clamp(kGoneRoundTrips * report_.round_trip, kGone, kGoneAtMost); }

// The newest with the first key, so that nothing that comes late leads back to a key that is being taken out. Otherwise
// the newest. There is one at least.
Session& Peer::current() const {
  const Cookie first = settings_.keys.front().id();
  const auto with_it = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                    [first](const auto& session) { return session->agreed().key_id == first; });
  return with_it == sessions_.rend() ? *sessions_.back() : **with_it;
}

void Peer::end_old_sessions(Time now) {
  const Session* const used = sessions_.empty() ? nullptr : &current();
  std::erase_if(sessions_, [this, now, used](const auto& session) {
    if (session.get() != used && now >= end_of(*session)) return true;
    return now >= session->made_at() + kLongest || session->sent() >= kLastSequence;
  });
  if (sessions_.empty()) go_down(DownCause::sessions_ended, now);
}

void Peer::send_keepalive(Session& session, Time now) {
  constexpr Duration kMost = std::numeric_limits<std::uint32_t>::max();
  const Duration held = its_clock_ == 0 ? 0 : std::min(kMost, now - its_clock_at_);
  const Keepalive body{std::max<Time>(now, 1), its_clock_, static_cast<std::uint32_t>(held)};
  send(session.seal(Type::keepalive, bytes_of(body)), now);
  if (&session == &current()) keepalive_at_ = now + kKeepalive;
}

void Peer::poll(Time now) {
  end_old_sessions(now);
  if (up_ && now >= heard_at_ + gone_after()) go_down(DownCause::silent, now);
  if (!sessions_.empty() && now >= keepalive_at_) send_keepalive(current(), now);
  if (unconfirmed_.session != nullptr) {
    if (now < unconfirmed_.again_at) return;
    if (unconfirmed_.sent < kConfirms) return send_confirm(now);
    unconfirmed_ = {};
    init_at_ = now;
  }
  if (now >= wants_handshake_at()) begin_handshake(now);
}

Time Peer::deadline() const {
  Time due = kNever;
  if (!sessions_.empty()) {
    const Session& used = current();
    due = std::min(keepalive_at_, used.made_at() + kLongest);
    for (const auto& session : sessions_)
      if (session.get() != &used) due = std::min({due, end_of(*session), session->made_at() + kLongest});
  }
  if (up_) due = std::min(due, heard_at_ + gone_after());
  if (unconfirmed_.session != nullptr) return std::min(due, unconfirmed_.again_at);
  return std::min(due, wants_handshake_at());
}

void Peer::set_keys(std::vector<PreSharedKey> keys, Time now) {
  settings_.keys = std::move(keys);
  const auto is_gone = [this](Cookie id) { return key_of(id) == nullptr; };
  const Cookie first = settings_.keys.front().id();
  if (opening_ && opening_->key.id() != first) opening_.reset();
  if (unconfirmed_.session != nullptr && unconfirmed_.session->agreed().key_id != first) unconfirmed_ = {};
  std::erase_if(sessions_, [&](const auto& session) {
    if (!is_gone(session->agreed().key_id)) return false;
    send(session->seal(Type::bye, bytes_of(Bye{ByeReason::key_removed})), now);
    return true;
  });
  if (sessions_.empty()) go_down(DownCause::key_removed, now);
  key_changed_ = !sessions_.empty() && current().agreed().key_id != first;
  retry_ = kFirstRetry;
  init_at_ = now;
}

void Peer::leave(ByeReason reason, Time now) {
  for (const auto& session : sessions_) send(session->seal(Type::bye, bytes_of(Bye{reason})), now);
  sessions_.clear();
  opening_.reset();
  unconfirmed_ = {};
  go_down(DownCause::sessions_ended, now);
  init_at_ = kNever;
}

PeerReport Peer::report(Time now) const {
  PeerReport report = report_;
  report.state = up_ ? State::up : unconfirmed_.session != nullptr ? State::confirming : State::down;
  report.in_state = now - changed_at_;
  report.silent_for = heard_at_ == 0 ? kNever : now - heard_at_;
  report.hears_us = unheard_at_ == 0 || now - unheard_at_ > seconds(1);
  report.sessions = static_cast<unsigned>(sessions_.size());
  report.repairs = repairs();
  if (sessions_.empty()) return report;
  const Session& newest = current();
  report.version = newest.agreed().version;
  report.workers = newest.agreed().peer_workers;
  report.key_id = newest.agreed().key_id;
  report.session_age = now - newest.made_at();
  return report;
}

}  // namespace longhaul::peer
