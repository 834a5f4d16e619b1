// SPDX-License-Identifier: BSD-3-Clause
#include "box.hpp"

#include <rte_mempool.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <string>

#include "../unit/support/seen.hpp"
#include "custody/ack_template.hpp"
#include "custody/held.hpp"
#include "dpdk.hpp"
#include "expect.hpp"
#include "wire/builder.hpp"

namespace longhaul::fuzz {

namespace {

constexpr std::uint32_t kFrameBytes = 4400;
constexpr unsigned kReceiveBuffers = 4096;
constexpr std::uint16_t kPoison = 64;  ///< bytes between a made frame's room and a received frame
constexpr std::uint16_t kReceivedAt = RTE_PKTMBUF_HEADROOM + custody::AckTemplate::kRoom + kPoison;

/// Ports receive into another pool than the one that the box takes its own buffers from, and to another place in a
/// buffer than where the box makes frames. So received frames can be told from frames that the box made, also from
/// those in the buffers of absorbed frames. And all around a received frame can be poisoned.
struct Memory {
  rte_mempool* receive = nullptr;
  engine::Pools ample;
  engine::Pools scarce;
};

const Memory& memory() {
  static const Memory made = [] {
    start_eal();
    Memory out;
    out.receive = rte_pktmbuf_pool_create("receive", kReceiveBuffers, 0, custody::kMbufPrivateSize,
                                          kReceivedAt + kFrameBytes, SOCKET_ID_ANY);
    expect(out.receive != nullptr, "no memory for the receive pool");
    out.ample =
        engine::Pools::create({.name = "ample", .frame_bytes = kFrameBytes, .frames = 2048, .small_frames = 4096});
    out.scarce = engine::Pools::create({.name = "scarce", .frame_bytes = kFrameBytes, .frames = 4, .small_frames = 12});
    return out;
  }();
  return made;
}

unsigned all_in_use(const engine::Pools& pools) {
  return rte_mempool_in_use_count(memory().receive) + buffers_in_use(pools);
}

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::vector<unsigned> vids_of(const Roce& roce) {
  return {roce.vids.begin(), roce.vids.begin() + static_cast<std::ptrdiff_t>(roce.tags)};
}

bool good(const Bytes& bytes, const Roce& roce) {
  return slow_icrc(bytes, roce) == carried_icrc(bytes, roce) && checksums_good(bytes, roce);
}

/// What the responder must get of a request: everything from the BTH up to the ICRC, without AckReq.
std::uint64_t content_of(const Bytes& bytes, const Roce& roce) {
  Bytes content(bytes.begin() + static_cast<std::ptrdiff_t>(roce.bth),
                bytes.begin() + static_cast<std::ptrdiff_t>(roce.icrc));
  content[8] &= 0x7f;
  return std::max<std::uint64_t>(1, hash_of(content));
}

/// What a box may change in a request that it sends again: two MAC addresses.
constexpr std::size_t kAddresses = 12;

std::uint64_t hash_without_addresses(const Bytes& bytes) {
  return hash_of(std::span(bytes).subspan(std::min(kAddresses, bytes.size())));
}

constexpr std::size_t kMostHistory = 2000;

bool is_request(const Roce& roce) { return roce.is_rc() && !(roce.known_opcode && roce.is_answer()); }

/// With LONGHAUL_FUZZ_TRACE, prints each frame that comes or goes.
void tell(Time now, std::string_view what, const Bytes& bytes) {
  static const bool wanted = std::getenv("LONGHAUL_FUZZ_TRACE") != nullptr;
  if (!wanted) return;
  std::string line = "not RoCE";
  if (const auto roce = read_roce(bytes)) {
    line = test::Seen(bytes).line() + " to QPN " + std::to_string(roce->qpn);
    if (roce->is_read()) line += " of " + std::to_string(roce->dma_length) + " bytes";
    if (!checksums_good(bytes, *roce)) line += " bad-checksum";
  }
  std::fprintf(stderr, "%14.6f ms  %-12.*s %s\n", static_cast<double>(now - seconds(1000)) / 1e6,
               static_cast<int>(what.size()), what.data(), line.c_str());
}

}  // namespace

void prepare_box() { (void)memory(); }

Box::Box(const engine::Settings& settings, bool scarce)
    : settings_(settings), pools_(scarce ? memory().scarce : memory().ample), record_(settings.max_connections) {
  policies_.push_back(settings.policies.fallback);
  start();
}

void Box::start() {
  engine_ = std::make_unique<engine::Engine>(settings_, pools_, *this, this);
  engine_->use_record(record_, now_);
}

Box::~Box() {
  check();
  engine_.reset();
  complete(0);
  if (defect("leak")) rte_pktmbuf_alloc(memory().receive);
  expect(all_in_use(pools_) == 0, "a buffer was lost");
}

// ---- in ---------------------------------------------------------------------------------------------------------

rte_mbuf* Box::make(Side side, const Bytes& bytes, bool chained) {
  const auto one = [&](std::span<const std::uint8_t> part) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(memory().receive);
    expect(mbuf != nullptr, "the receive pool is empty: frames are not given back");
    __asan_unpoison_memory_region(mbuf->buf_addr, mbuf->buf_len);
    mbuf->data_off = kReceivedAt;
    char* room = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(part.size()));
    std::copy(part.begin(), part.end(), room);
    __asan_poison_memory_region(mbuf->buf_addr, RTE_PKTMBUF_HEADROOM);
    __asan_poison_memory_region(room - kPoison, kPoison);
    __asan_poison_memory_region(room + part.size(), static_cast<std::size_t>(rte_pktmbuf_tailroom(mbuf)));
    return mbuf;
  };
  if (!chained) {
    rte_mbuf* mbuf = one(bytes);
    known_[mbuf] = {bytes, side, !read_roce(bytes), received_++};
    if (known_[mbuf].plain) plain_[side].push_back(mbuf);
    return mbuf;
  }
  const std::size_t half = bytes.size() / 2;
  rte_mbuf* mbuf = one(std::span(bytes).first(half));
  expect(rte_pktmbuf_chain(mbuf, one(std::span(bytes).subspan(half))) == 0, "chaining");
  known_[mbuf] = {bytes, side, true, received_++};
  plain_[side].push_back(mbuf);
  return mbuf;
}

void Box::receive(Side side, const std::vector<Bytes>& frames, bool chained) {
  std::vector<rte_mbuf*> burst;
  for (const Bytes& bytes : frames) {
    if (bytes.size() > kFrameBytes) continue;
    tell(now_, side == Side::host ? "host >" : "       < wan", bytes);
    if (!chained) came_in(side, bytes);
    burst.push_back(make(side, bytes, chained && bytes.size() > 1));
  }
  if (burst.empty()) return;
  current_ = frames;
  current_side_ = side;
  if (defect("read-beyond")) expect(*rte_pktmbuf_mtod_offset(burst[0], volatile char*, burst[0]->data_len) != 77, "");
  engine_->receive(side, burst, now_);
  current_.clear();
  check();
}

void Box::came_in(Side side, const Bytes& bytes) {
  if (side == Side::host) {
    requests_.insert(hash_without_addresses(bytes));
    if (bytes.size() >= kAddresses) next_hops_.insert({bytes.begin(), bytes.begin() + kAddresses / 2});
  }
  const auto roce = read_roce(bytes);
  if (!roce) {
    heard_ |= side == Side::wan;
    return;
  }
  if (roce->opcode == 0x64 && roce->qpn == 1) came_in_cm(bytes, *roce);
  if (!good(bytes, *roce)) return;
  if (!roce->is_rc()) return;
  if (side == Side::host && is_request(*roce)) {
    if (Flow* flow = by_requests(*roce)) flow->judge.requested(*roce, content_of(bytes, *roce));
    // A connection may be learned later, and begin with earlier requests.
    if (history_.size() < kMostHistory) history_.push_back({*roce, content_of(bytes, *roce)});
  } else if (side == Side::wan && roce->known_opcode && roce->is_answer()) {
    if (Flow* flow = by_answers(*roce)) flow->judge.answered(*roce);
  }
}

/// Keeps REQs: the REP that answers one gives only half of what a flow begins with.
void Box::came_in_cm(const Bytes& bytes, const Roce& roce) {
  if (roce.payload_size < 256) return;
  const auto mad = std::span(bytes).subspan(roce.payload, 256);
  if (number_at(mad, 16, 2) == kRep) reps_.push_back({number_at(mad, 24, 4), number_at(mad, 28, 4)});
  if (number_at(mad, 16, 2) != 0x10) return;
  reqs_.push_back({number_at(mad, 24, 4), number_at(mad, 68, 3),
                   std::uint64_t{number_at(mad, 8, 4)} << 32 | number_at(mad, 12, 4),
                   static_cast<std::uint8_t>(mad[74] >> 4), roce.source, vids_of(roce)});
}

void Box::on_flow_learned(const custody::FlowIdentity& identity, Time) {
  const auto roce = current_.size() == 1 ? read_roce(current_.front()) : std::nullopt;
  if (roce && roce->opcode == 0x64)
    learned_from_cm(identity, *roce);
  else
    learned_from_traffic(identity);
  if (refuses_) flows_.front().judge.all_may_look_sent();
}

/// Learned from a REP, which came alone because bursts carry no RDMA-CM. If another connection had a QPN, learned from
/// a later message of the REQ's sender that names both IDs. Requests since the REP belonged to no flow, and are not
/// judged.
void Box::learned_from_cm(const custody::FlowIdentity& identity, const Roce& roce) {
  const auto mad = std::span(current_.front()).subspan(roce.payload, 256);
  if (number_at(mad, 16, 2) != kRep) {
    const Rep wanted{number_at(mad, 28, 4), number_at(mad, 24, 4)};
    expect(std::find(reps_.begin(), reps_.end(), wanted) != reps_.end(), "a connection that nobody agreed to");
    flows_.push_front({identity, vids_of(roce), FlowJudge(0, 0)});
    flows_.front().since = received_;
    flows_.front().judge.lose();
    return;
  }
  const std::uint64_t transaction = std::uint64_t{number_at(mad, 8, 4)} << 32 | number_at(mad, 12, 4);
  std::vector<Req> matching;
  for (const Req& req : reqs_)
    if (req.comm == number_at(mad, 28, 4) && req.transaction == transaction && req.active == roce.destination &&
        req.vids == vids_of(roce))
      matching.push_back(req);
  expect(!matching.empty(), "a connection that nobody asked for");
  // The Starting PSN in a message is the one that its receiver begins with.
  const std::uint32_t start = current_side_ == Side::wan ? number_at(mad, 44, 3) : matching.front().psn;
  const std::uint8_t mtu = matching.front().mtu;
  flows_.push_front({identity, vids_of(roce), FlowJudge(start, mtu >= 1 && mtu <= 5 ? 128U << mtu : 0)});
  flows_.front().since = received_;
  // If there are several REQs with one key, it is uncertain which of them the box took.
  for (const Req& req : matching)
    if (req.psn != matching.front().psn || req.mtu != mtu) flows_.front().judge.lose();
}

/// Learned from an ACK of the burst. Earlier requests of the requester count.
void Box::learned_from_traffic(const custody::FlowIdentity& identity) {
  expect(current_side_ == Side::wan, "a flow learned from something else than an answer");
  std::vector<Roce> answers;
  for (const Bytes& bytes : current_)
    if (const auto roce = read_roce(bytes); roce && good(bytes, *roce) && roce->opcode == 0x11 &&
                                            roce->qpn == identity.requester_qpn &&
                                            roce->source == identity.responder.bytes)
      answers.push_back(*roce);
  expect(!answers.empty(), "a flow learned from nothing");
  std::uint32_t start = answers.front().psn;
  for (const Roce& answer : answers)
    if ((answer.psn - start & 0xffffff) >= 0x800000) start = answer.psn;
  flows_.push_front({identity, vids_of(answers.front()), FlowJudge(start, 0)});
  Flow& flow = flows_.front();
  flow.judge.midway();
  for (const KnownRequest& known : history_)
    if (by_requests(known.roce) == &flow) {
      flow.judge.requested(known.roce, known.content);
      flow.judge.sent(known.roce);
    }
  for (const Roce& answer : answers) flow.judge.answered(answer);
}

Box::Flow* Box::by_requests(const Roce& roce) {
  for (Flow& flow : flows_)
    if (flow.identity.responder_qpn == roce.qpn && flow.identity.requester.bytes == roce.source &&
        flow.identity.responder.bytes == roce.destination && flow.vids == vids_of(roce))
      return &flow;
  return nullptr;
}

Box::Flow* Box::by_answers(const Roce& roce) {
  for (Flow& flow : flows_)
    if (is_answer_of(flow, roce)) return &flow;
  return nullptr;
}

bool Box::is_answer_of(const Flow& flow, const Roce& roce) {
  return flow.identity.requester_qpn == roce.qpn && flow.identity.responder.bytes == roce.source &&
         flow.identity.requester.bytes == roce.destination && flow.vids == vids_of(roce);
}

Box::Flow* Box::by_serial(std::uint64_t serial) {
  for (Flow& flow : flows_)
    if (flow.identity.serial == serial) return &flow;
  return nullptr;
}

// ---- what the engine says -----------------------------------------------------------------------------------------

void Box::on_pseudo_ack(const custody::FlowIdentity& identity, const custody::AckFields& ack, Time) {
  Flow* flow = by_serial(identity.serial);
  expect(flow != nullptr, "a pseudo-ACK of no flow");
  expect(!draining_, "a pseudo-ACK while draining");
  const auto always = [this](flow::Policy policy) {
    return std::ranges::all_of(policies_, [policy](flow::Policy other) { return other == policy; });
  };
  expect(!always(flow::Policy::off), "a pseudo-ACK under policy off");
  expect(ack.destination_qpn == identity.requester_qpn, "fields of a pseudo-ACK");
  if (always(flow::Policy::window))
    expect(!flow->judge.completes_unanswered(ack.psn), "policy window completed a message that was not answered");
  if (settings_.confirm == engine::Confirm::answer)
    expect(flow->judge.was_answered() || flow->judge.lost(), "a pseudo-ACK before any real answer");
  const auto broken = flow->judge.promised(defect("early-ack") ? ack.psn + 1 : ack.psn, false);
  expect(broken.empty(), broken);
  std::uint32_t messages = 0;
  const Counters& counters = engine_->counters();
  if (counters[Counter::plain_requests] == 0 && counters[Counter::flows_rejoined] == 0 &&
      counters[Counter::dropped_behind_backlog] == 0 && flow->judge.messages_until(ack.psn, messages))
    expect((messages & 0xffffff) == (defect("msn") ? ack.msn + 1 : ack.msn), "a pseudo-ACK's MSN");
}

/// From here on the box absorbs requests, but what the responder itself acknowledges still counts.
void Box::failed(Flow& flow) {
  flow.over = true;
  flow.judge.all_may_look_sent();
}

void Box::on_flow_failed(const custody::FlowIdentity& identity, std::string_view, std::uint64_t, Time) {
  Flow* flow = by_serial(identity.serial);
  if (flow == nullptr) return;
  failed(*flow);
  // The flow's last progress was at most a resend timeout and an RNR wait after settle() began.
  if (settling_ && now_ > settling_since_ + seconds(10))
    expect(flow->judge.unsure() || flow->too_long, "what was promised is given up, with an honest responder");
}

void Box::on_flow_closed(const custody::FlowIdentity& identity, std::uint64_t, Time) {
  if (Flow* flow = by_serial(identity.serial)) flow->over = true;
}

/// Another life's answers began the flow again, without RDMA-CM. Which requests were that life's cannot be told here;
/// the simulated worlds judge it.
void Box::on_began_again(const custody::FlowIdentity& identity, Time) {
  if (Flow* flow = by_serial(identity.serial)) flow->judge.lose();
}

/// The PSNs came again with other bytes. Whether custody arrived is unknown, and the box says so.
void Box::on_unconfirmed_in_doubt(const custody::FlowIdentity& identity, std::uint64_t packets, std::uint64_t, Time) {
  expect(packets != 0, "nothing is unconfirmed, and said to be");
  if (Flow* flow = by_serial(identity.serial)) flow->over = true;
}

// ---- out --------------------------------------------------------------------------------------------------------

std::uint16_t Box::transmit(Side out, rte_mbuf** frames, std::uint16_t count) {
  std::size_t& room = room_[out];
  const auto accepted = static_cast<std::uint16_t>(std::min<std::size_t>(room, count));
  if (room != kUnlimited) room -= accepted;
  for (std::uint16_t i = 0; i < accepted; ++i) went_out(out, frames[i]);
  complete(64);
  return accepted;
}

void Box::went_out(Side out, rte_mbuf* mbuf) {
  Bytes bytes;
  for (const rte_mbuf* part = mbuf; part != nullptr; part = part->next) {
    const auto* data = rte_pktmbuf_mtod(part, const std::uint8_t*);
    bytes.insert(bytes.end(), data, data + part->data_len);
  }
  expect(bytes.size() == mbuf->pkt_len, "a frame's length");
  tell(now_, out == Side::host ? "host <" : "       > wan", bytes);
  story_ = (story_ ^ now_ ^ (out == Side::host ? 1 : 2)) * 0x9e3779b97f4a7c15 + hash_of(bytes);
  if (defect("altered") && bytes.size() > 50) bytes[50] ^= 1;
  const bool received = mbuf->pool == memory().receive && mbuf->data_off == kReceivedAt;
  if (received) forwarded(out, mbuf, bytes);
  if (!received && out == Side::host) made(bytes);
  if (!received && out == Side::wan) resent(bytes);
  if (out == Side::wan)
    if (const auto roce = read_roce(bytes); roce && is_request(*roce) && good(bytes, *roce))
      if (Flow* flow = by_requests(*roce)) flow->judge.sent(*roce);
  if (settling_) out_.push_back({out, bytes, received ? known_.at(mbuf).number : received_});
  in_flight_.push_back({mbuf, std::move(bytes)});
}

void Box::forwarded(Side out, const rte_mbuf* mbuf, const Bytes& bytes) {
  const auto found = known_.find(mbuf);
  expect(found != known_.end(), "a frame that never came");
  expect(found->second.side == other(out), "a frame went back where it came from");
  expect(found->second.bytes == bytes, "a frame was altered");
  if (!found->second.plain) return;
  auto& waiting = plain_[found->second.side];
  if (engine_->counters()[Counter::dropped_port_full] != 0) return;
  expect(!waiting.empty() && waiting.front() == mbuf, "a frame that is no RoCE was overtaken");
  waiting.pop_front();
}

/// A frame that the box made for a requester: an ACK or a NAK in the responder's name, or a CNP.
void Box::made(const Bytes& bytes) {
  const auto roce = read_roce(bytes);
  if (roce && roce->opcode == 0x81) {
    expect(good(bytes, *roce), "a CNP's ICRC and checksums");
    const Bytes fields(bytes.begin() + static_cast<std::ptrdiff_t>(roce->bth),
                       bytes.begin() + static_cast<std::ptrdiff_t>(roce->icrc));
    Bytes wanted(12 + 16);
    wanted[0] = 0x81;
    wanted[4] = 0x40;                                        // BECN
    std::copy_n(fields.begin() + 2, 2, wanted.begin() + 2);  // P_Key
    std::copy_n(fields.begin() + 5, 3, wanted.begin() + 5);  // destination QPN
    expect(fields == wanted, "a CNP's fields");
    expect(std::ranges::any_of(flows_, [&](const Flow& flow) { return is_answer_of(flow, *roce); }),
           "a CNP for no flow");
    return;
  }
  expect(roce && roce->opcode == 0x11, "a frame made that is no ACK");
  expect(good(bytes, *roce), "a made frame's ICRC and checksums");
  const bool ack = roce->syndrome >> 5 == 0;
  const bool rnr = roce->syndrome >> 5 == 1;
  expect(ack || rnr || (roce->syndrome >= 0x60 && roce->syndrome <= 0x7f), "a made frame's syndrome");
  // The host port may have refused the frame while its QPN got another connection.
  std::string_view broken = "an ACK made for no flow";
  for (Flow& flow : flows_) {
    if (!is_answer_of(flow, *roce)) continue;
    broken = flow.judge.promised(roce->psn, !ack);
    if (ack && roce->syndrome != 0x1f && !flow.judge.credits_seen() && !flow.judge.lost()) broken = "credits of nobody";
    if (rnr && !flow.judge.rnr_seen(roce->syndrome)) broken = "an RNR NAK of nobody";
    if (broken.empty()) break;
  }
  expect(broken.empty(), broken);
}

/// A frame from custody: a request as it came, or with AckReq set and a new ICRC. Its next hop is one that some frame
/// of the host side had, or one that a frame which is not RoCE may have announced.
void Box::resent(const Bytes& bytes) {
  expect(heard_ || next_hops_.contains({bytes.begin(), bytes.begin() + kAddresses / 2}), "a resend's next hop");
  if (requests_.contains(hash_without_addresses(bytes))) return;
  const auto roce = read_roce(bytes);
  expect(roce && roce->ack_req && good(bytes, *roce), "a frame that never came");
  Bytes before = bytes;
  before[roce->bth + 8] &= 0x7f;
  const std::uint32_t icrc = slow_icrc(before, *roce);
  for (std::size_t i = 0; i < 4; ++i) before[roce->icrc + i] = static_cast<std::uint8_t>(icrc >> 8 * i);
  expect(requests_.contains(hash_without_addresses(before)), "a resent frame was altered");
}

/// A NIC reads a frame some time after it accepted it. Until then the frame's bytes must not change.
void Box::complete(std::size_t left) {
  while (in_flight_.size() > left) {
    const InFlight& frame = in_flight_.front();
    std::size_t at = 0;
    for (const rte_mbuf* part = frame.mbuf; part != nullptr && !defect("altered"); part = part->next) {
      const auto* data = rte_pktmbuf_mtod(part, const std::uint8_t*);
      expect(at + part->data_len <= frame.bytes.size() &&
                 std::equal(data, data + part->data_len, frame.bytes.begin() + static_cast<std::ptrdiff_t>(at)),
             "a frame changed after a port had accepted it");
      at += part->data_len;
    }
    rte_pktmbuf_free(frame.mbuf);
    in_flight_.pop_front();
  }
}

// ---- after each call --------------------------------------------------------------------------------------------

void Box::check() {
  const Counters& counters = engine_->counters();
  used_lane_ |= counters[Counter::lane_frames] != 0;
  const std::uint64_t in = counters[Counter::frames_host] + counters[Counter::frames_wan];
  std::uint64_t accounted =
      counters[Counter::forwarded_host] + counters[Counter::forwarded_wan] + engine_->waiting_frames();
  for (const Counter counter : metrics::kNotForwarded) accounted += counters[counter];
  expect(in == accounted + (defect("sum") ? 1 : 0), "frames in = forwarded + dropped by name + waiting");
  const std::string_view broken = engine_->inconsistency();
  expect(broken.empty(), broken);
  expect(engine_->custody_bytes() <= settings_.custody_box_bytes, "custody exceeds the box's limit");
  // Another request may come under a dropped request's PSN.
  if (counters[Counter::dropped_behind_backlog] != 0)
    for (Flow& flow : flows_) flow.judge.forget_order();
}

void Box::poll(bool answers_waiting) {
  engine_->poll(now_, answers_waiting ? 0 : now_);
  check();
}

void Box::wait(Duration duration) {
  const Time until = now_ + duration;
  unsigned still = 0;
  // The engine may have a timer that fires again and again. But if time stood still, the box would hang.
  for (unsigned polls = 0; polls < 3000 && engine_->next_deadline() <= until; ++polls) {
    const Time before = now_;
    now_ = std::max(now_, engine_->next_deadline());
    still = now_ == before ? still + 1 : 0;
    expect(still < 100, "the engine asks to be polled for ever");
    poll(false);
  }
  now_ = std::max(now_, until);
}

void Box::allow(Side side, std::size_t frames) {
  room_[side] = frames;
  if (side != Side::wan || frames == kUnlimited) return;
  refuses_ = true;
  for (Flow& flow : flows_) flow.judge.all_may_look_sent();
}

void Box::drain(bool on) {
  draining_ = on;
  engine_->set_draining(on);
}

void Box::change_policy(flow::Policy policy) {
  policies_.push_back(policy);
  settings_.policies.fallback = policy;
  engine_->reconfigure(settings_);
  engine_->apply_policies(0, engine_->connection_slots());
  check();
}

void Box::bypass(bool on, std::uint32_t forgotten) {
  engine_->set_bypass(on, now_);
  if (on) engine_->forget(0, forgotten, "bypass", now_);
  check();
}

void Box::restart(std::size_t at, std::uint8_t damage) {
  engine_.reset();
  complete(0);
  for (auto& waiting : plain_) waiting.clear();
  for (Flow& flow : flows_) failed(flow);
  draining_ = false;
  if (damage != 0) {
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(record_.data()),
                                        record_.size() * sizeof(custody::RecordSlot));
    bytes[at % bytes.size()] ^= damage;
    // The damaged record may say that anything was promised.
    for (Flow& flow : flows_) flow.judge.lose();
  }
  start();
  check();
}

void Box::take_delays() { engine_->acks_accepted(now_); }

// ---- the end ----------------------------------------------------------------------------------------------------

namespace {

wire::PacketBuilder answer_to(const Bytes& frame, const Roce& request, std::uint32_t requester_qpn) {
  wire::PacketBuilder builder;
  builder.ips(wire::IpAddress{request.destination}, wire::IpAddress{request.source}).qpn(requester_qpn);
  for (std::size_t i = 0; i < request.tags; ++i)
    builder.vlan(static_cast<std::uint16_t>(request.vids[i]),
                 static_cast<std::uint16_t>(number_at(frame, 12 + 4 * i, 2)));
  return builder;
}

constexpr std::uint32_t kLongestRead = 64;  // responses

}  // namespace

// An honest responder goes on with the MSN of its answers so far. The input made those with any MSN, and the box knows
// which ones it believed.
std::uint32_t Box::msn_of(const Flow& flow) const {
  std::vector<engine::ConnectionState> states;
  engine_->describe(0, engine_->connection_slots(), now_, states);
  for (const engine::ConnectionState& state : states) {
    if (state.serial != flow.identity.serial) continue;
    const Position una = flow.judge.position(state.una);
    return state.msn + flow.judge.messages_before(std::max(una, flow.expected)) - flow.judge.messages_before(una);
  }
  return 0;
}

void Box::answer(Flow& flow, const Bytes& bytes, const Roce& request, std::vector<Bytes>& answers) {
  const Position at = flow.judge.position(request.psn);
  const std::uint32_t span = flow.judge.span(request);
  const auto reply = [&](std::uint8_t opcode, Position psn, std::uint8_t syndrome) {
    auto builder = answer_to(bytes, request, flow.identity.requester_qpn);
    builder.opcode(opcode).psn(static_cast<std::uint32_t>(psn & 0xffffff));
    if (opcode != 0x0e) builder.aeth(syndrome, flow.msn & 0xffffff);
    answers.push_back(builder.build());
  };
  if (at > flow.expected) {
    if (!flow.asked_again) reply(0x11, flow.expected, 0x60);
    flow.asked_again = true;
    return;
  }
  if (at == flow.expected) {
    const std::uint64_t right = flow.judge.content_at(at);
    expect(at >= flow.judge.promised_until() || request.is_read() || right == 0 || right == content_of(bytes, request),
           "what was promised is not what is delivered");
  }
  // The answers so far may end in the middle of a READ. A responder that answers all of it continues after it.
  if (at + span > flow.expected) {
    flow.expected = at + span;
    flow.asked_again = false;
    if (request.ends_message()) ++flow.msn;
  }
  if (request.is_read()) {
    if (span > kLongestRead) {
      flow.too_long = true;
      return;
    }
    for (std::uint32_t i = 0; i < span; ++i) {
      const bool first = i == 0;
      const bool last = i + 1 == span;
      reply(first && last ? 0x10 : first ? 0x0d : last ? 0x0f : 0x0e, at + i, 0x1f);
    }
  } else if (request.is_atomic()) {
    reply(0x12, at, 0x1f);
  } else if (request.ack_req) {
    reply(0x11, flow.expected - 1, 0x1f);
  }
}

void Box::settle() {
  settling_ = true;
  settling_since_ = now_;
  allow(Side::host, kUnlimited);
  allow(Side::wan, kUnlimited);
  bypass(false, 0);
  for (Flow& flow : flows_) {
    flow.expected = flow.judge.answered_until();
    flow.msn = msn_of(flow);
  }
  // Only requesters would repeat what was not promised, and they have stopped. A flow in doubt checks at each timeout
  // whether it may send again, until give_up.
  constexpr Duration kLongest = seconds(300);
  while (now_ - settling_since_ < kLongest && engine_->unconfirmed_bytes() != 0) {
    const Time next = engine_->next_deadline();
    expect(next != kNever, "packets in custody and no deadline");
    now_ = std::max(now_, next);
    poll(false);
    complete(0);
    std::vector<Emitted> seen;
    seen.swap(out_);
    std::vector<Bytes> answers;
    for (const Emitted& frame : seen) {
      if (frame.out != Side::wan) continue;
      const auto roce = read_roce(frame.bytes);
      if (!roce || !roce->known_opcode || !is_request(*roce) || !good(frame.bytes, *roce)) continue;
      if (defect("forgotten")) continue;
      Flow* flow = by_requests(*roce);
      // An earlier connection's frame that had to wait for the port is foreign to this one.
      if (flow != nullptr && frame.number >= flow->since && !flow->judge.unsure())
        answer(*flow, frame.bytes, *roce, answers);
    }
    now_ += milliseconds(1);
    for (const Bytes& bytes : answers) receive(Side::wan, {bytes});
  }
  const bool judged =
      std::none_of(flows_.begin(), flows_.end(), [](const Flow& flow) { return flow.judge.unsure() || flow.too_long; });
  if (!judged) return;
  expect(engine_->unconfirmed_bytes() == 0, "what was promised stays in custody for ever");
  for (const Flow& flow : flows_)
    expect(flow.over || flow.judge.promised_until() <= std::max(flow.expected, flow.judge.answered_until()),
           "what was promised never arrived");
}

}  // namespace longhaul::fuzz
