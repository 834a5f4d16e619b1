// SPDX-License-Identifier: BSD-3-Clause
#include "test/bench/session.hpp"

#include "test/bench/foreign_stream.hpp"
#include "test/bench/looks_per_yield.hpp"
#include "test/bench/preemptions.hpp"

#include <emmintrin.h>
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace longhaul::bench {

namespace {

constexpr std::uint32_t kQpnBase = 0x100;
constexpr std::uint32_t kQpnsOfStream = 1 << 22;
constexpr unsigned kUnmeasured = 8;  // chunks after a pause, in which caches and branch predictors have forgotten
constexpr std::chrono::milliseconds kLooksOn(1200);
constexpr std::uint64_t kPatience = 20;  // seconds for a chunk

rte_mbuf* to_mbuf(rte_mempool* pool, const std::vector<std::uint8_t>& bytes) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  if (mbuf == nullptr) throw std::runtime_error("linerate: no mbuf for RDMA-CM");
  std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
  return mbuf;
}

void make_cold(const Offer& offer) {
  for (const auto& side : offer.frames)
    for (const rte_mbuf* mbuf : side) {
      const char* bytes = rte_pktmbuf_mtod(mbuf, const char*);
      for (std::uint32_t at = 0; at < mbuf->data_len; at += RTE_CACHE_LINE_SIZE) _mm_clflush(bytes + at);
      _mm_clflush(bytes + mbuf->data_len - 1);
    }
  _mm_mfence();
}

}  // namespace

void Offer::clear() {
  for (auto& side : frames) side.clear();
  packets = bytes = 0;
}

Session::Session(const Point& point, const Chunks& chunks, Device& device, RingPorts& ports, rte_mempool* pool,
                 const Payloads& payloads)
    : point_(point), chunks_(chunks), device_(device), ports_(ports), pool_(pool) {
  for (const Side side : {Side::host, Side::wan})
    if (point.workload->has(side)) {
      const std::uint32_t base = kQpnBase + (side == Side::wan ? kQpnsOfStream : 0);
      connections_.push_back(std::make_unique<RoceStream>(point, side, base, pool, device, payloads, errors_));
      streams_.push_back(connections_.back().get());
    }
  if (!point.workload->foreign_sizes.empty()) {
    foreign_ = std::make_unique<ForeignStream>(point, pool, device, payloads, errors_);
    streams_.push_back(foreign_.get());
  }
}

void Session::set_up() {
  if (!point_.workload->announced) {
    // A box that sees its first frame watches for a while before it believes an ACK.
    step(Part::requests);
    if (device_.accelerates()) device_.wait(kLooksOn);
    return;
  }
  for (auto& stream : connections_) connect(*stream);
  // Connections without a real answer are not accelerated.
  for (auto& stream : connections_)
    for (;;) {
      offer_.clear();
      stream->offer_first(chunks_.frames, offer_);
      if (offer_.size() == 0) break;
      pass();
      while (pending() > 0) step(Part::answers);
    }
  for (auto& stream : connections_) {
    if (stream->unanswered() != 0)
      errors_.add(fmt::format("{} first requests were not answered", stream->unanswered()));
    stream->set_confirmed();
    stream->set_lag(point_.custody_packets);
  }
  const std::uint64_t custody = std::uint64_t{point_.custody_packets} * connections_.size();
  while (errors_.empty() && pending() < custody) step(Part::requests);
}

void Session::disturb(Stream& stream, double share) {
  if (disturbance_ == nullptr) streams_.push_back(&stream);
  disturbance_ = &stream;
  disturbance_share_ = share;
}

// Spread evenly over the chunk.
void Session::add_disturbance() {
  const double more = static_cast<double>(offer_.size()) * disturbance_share_ / (1 - disturbance_share_);
  Offer extra;
  disturbance_->offer(Part::all, static_cast<std::size_t>(std::lround(more)), extra);
  for (const Side side : kSides) {
    std::vector<rte_mbuf*> mixed;
    const std::vector<rte_mbuf*>& own = offer_.frames[side];
    const std::vector<rte_mbuf*>& others = extra.frames[side];
    std::size_t added = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      while (added * own.size() < i * others.size()) mixed.push_back(others[added++]);
      mixed.push_back(own[i]);
    }
    mixed.insert(mixed.end(), others.begin() + static_cast<std::ptrdiff_t>(added), others.end());
    offer_.frames[side] = std::move(mixed);
  }
}

void Session::connect(RoceStream& stream) {
  for (std::uint32_t first = 0; first < stream.flows(); first += chunks_.frames) {
    const std::uint32_t end = std::min(stream.flows(), first + chunks_.frames);
    for (const bool request : {true, false}) {
      const Side in = request ? stream.requester_side() : other(stream.requester_side());
      offer_.clear();
      for (std::uint32_t flow = first; flow < end; ++flow) {
        const CmExchange exchange = stream.exchange(flow);
        std::vector<std::uint8_t> frame = request ? cm_request(exchange) : cm_reply(exchange);
        offer_.frames[in].push_back(to_mbuf(pool_, frame));
        device_.rewrite(other(in), frame.data());
        cm_due_.push_back(std::move(frame));
      }
      pass();
      if (cm_come_ != cm_due_.size())
        errors_.add(fmt::format("{} of {} frames of RDMA-CM came out", cm_come_, cm_due_.size()));
      cm_due_.clear();
      cm_come_ = 0;
    }
  }
}

Round Session::measure(std::uint64_t packets) {
  Round round;
  warm_up();
  std::uint64_t passed = 0;
  while (passed < packets && errors_.empty()) {
    measure_chunk(&round);
    if (!round.chunks.empty()) passed += round.chunks.back().packets;
  }
  return round;
}

void Session::warm_up() {
  for (unsigned i = 0; i < kUnmeasured && errors_.empty(); ++i) measure_chunk(nullptr);
}

void Session::measure_chunk(Round* round) {
  const bool answers_only = point_.workload->answers_only;
  if (answers_only) step(Part::requests);
  step(answers_only ? Part::answers : Part::all, round);
}

void Session::finish() {
  for (auto& stream : connections_)
    while (errors_.empty()) {
      offer_.clear();
      stream->offer_rest(chunks_.frames, offer_);
      if (offer_.size() == 0) break;
      pass();
    }
  for (Stream* stream : streams_) stream->set_lag(0);
  while (errors_.empty() && pending() > 0) step(Part::answers);
  for (const Stream* stream : streams_)
    if (stream->unanswered() != 0 && errors_.empty())
      errors_.add(fmt::format("{} packets were never answered", stream->unanswered()));
  if (const std::string complaint = device_.complaint(); !complaint.empty()) errors_.add(complaint);
}

std::uint64_t Session::pending() const {
  std::uint64_t sum = 0;
  for (const Stream* stream : streams_) sum += stream->pending();
  return sum;
}

void Session::step(Part part, Round* round) {
  offer_.clear();
  // If streams share a port, they take turns.
  const std::size_t sharing = streams_.size() - (disturbance_ != nullptr);
  const auto frames = static_cast<std::size_t>((1 - disturbance_share_) * chunks_.frames);
  std::vector<Offer> offers(sharing);
  for (std::size_t i = 0; i < sharing; ++i) {
    streams_[i]->offer(part, frames / sharing, offers[i]);
    offer_.packets += offers[i].packets;
    offer_.bytes += offers[i].bytes;
  }
  for (const Side side : {Side::host, Side::wan})
    for (std::size_t place = 0;; ++place) {
      bool any = false;
      for (const Offer& offer : offers)
        if (place < offer.frames[side].size()) {
          offer_.frames[side].push_back(offer.frames[side][place]);
          any = true;
        }
      if (!any) break;
    }
  if (offer_.size() == 0) return;
  if (disturbance_ != nullptr) add_disturbance();
  const Round::Chunk chunk = pass(round != nullptr);
  if (round != nullptr) round->chunks.push_back(chunk);
}

Round::Chunk Session::pass(bool measured) {
  ChunkObserver* observer = measured ? observer_ : nullptr;
  Round::Chunk chunk{offer_.packets, offer_.bytes, offer_.size(), std::nullopt, false, 0, false};
  if (chunks_.cold) make_cold(offer_);
  device_.prepare(measured);
  if (observer != nullptr) observer->before(offer_);
  const long preemptions_before = preemptions();
  const std::uint64_t begin = rte_rdtsc();
  ports_.put(Side::host, offer_.frames[Side::host]);
  ports_.put(Side::wan, offer_.frames[Side::wan]);
  device_.offered(offer_.size());
  if (observer != nullptr) observer->put_in();
  std::optional<Device::Work> work;
  for (unsigned looks = 1; !(work = device_.done()); ++looks) {
    // Each look costs the device a cache miss.
    for (int i = 0; i < 8; ++i) rte_pause();
    if (device_.shares_processor() && looks % kLooksPerYield == 0) std::this_thread::yield();
    if (rte_rdtsc() - begin > kPatience * rte_get_tsc_hz())
      throw std::runtime_error(
          fmt::format("{} is not done with {} frames after {} s", device_.name(), offer_.size(), kPatience));
  }
  chunk.outside = rte_rdtsc() - begin;
  chunk.unseen = preemptions() != preemptions_before;
  chunk.busy = work->busy;
  chunk.preempted = device_.preempted();
  take_all(observer);
  for (Stream* stream : streams_) stream->after_chunk();
  return chunk;
}

void Session::take_all(ChunkObserver* observer) {
  for (const Side out : {Side::host, Side::wan}) {
    const auto frames = ports_.take(out);
    if (observer != nullptr) observer->came_out(out, frames);
    for (rte_mbuf* mbuf : frames) {
      wire::Frame parsed;
      const wire::ParseStatus status =
          wire::parse({rte_pktmbuf_mtod(mbuf, const std::uint8_t*), mbuf->data_len}, parsed);
      const bool known = take_cm(mbuf) || std::any_of(streams_.begin(), streams_.end(), [&](Stream* stream) {
                           return stream->take(out, status, parsed, mbuf);
                         });
      if (!known)
        errors_.add(fmt::format("a frame of {} bytes came out of the {} port for nobody", mbuf->pkt_len, name_of(out)));
    }
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
  }
}

bool Session::take_cm(rte_mbuf* mbuf) {
  if (cm_come_ >= cm_due_.size()) return false;
  const auto& due = cm_due_[cm_come_];
  if (mbuf->pkt_len != due.size() || std::memcmp(rte_pktmbuf_mtod(mbuf, const void*), due.data(), due.size()) != 0)
    return false;
  ++cm_come_;
  return true;
}

}  // namespace longhaul::bench
