// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace longhaul::jobs {

namespace {

constexpr std::uint64_t kNote = 64;  ///< room for a Done or a Verdict
constexpr std::size_t kChain = 16;   ///< requests posted in one call
constexpr std::chrono::microseconds kLook{50};
constexpr std::uint8_t kBye = 1;

/// The SEND behind the last message.
struct Done {
  std::uint32_t magic = Offer::kMagic;
  std::uint32_t job = 0;
  std::uint32_t messages = 0;
};

/// The server's answer to it.
struct Verdict {
  std::uint32_t magic = Offer::kMagic;
  std::uint32_t job = 0;
  double comparing = 0;  ///< seconds that the comparison took
  Comparison comparison;
};

static_assert(sizeof(Done) <= kNote && sizeof(Verdict) <= kNote);

/// A job that ran out of time, as opposed to one that met an error.
struct Hung : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What both ends have: the region of messages, then a note, in each direction.
class End {
 public:
  End(const Offer& offer, const std::string& device, const Address& gid, std::uint32_t sends, std::uint32_t receives,
      std::uint32_t skip, bool solicited_only)
      : offer_(offer), layout_(offer.pattern), endpoint_(needs(device, gid, sends, receives, skip, solicited_only)) {}

  [[nodiscard]] const Pattern& pattern() const { return offer_.pattern; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::uint64_t messages() const { return offer_.pattern.messages; }
  Endpoint& endpoint() { return endpoint_; }

  std::span<std::uint8_t> inbox() { return endpoint_.inbox().first(layout_.region()); }
  std::span<std::uint8_t> in(std::uint64_t message) { return at(endpoint_.inbox(), message); }
  std::span<std::uint8_t> out(std::uint64_t message) { return at(endpoint_.outbox(), message); }

  void fill_outbox(Side side) {
    for (std::uint32_t n = 0; n < offer_.pattern.messages; ++n) fill(offer_.pattern, side, n, out(n));
  }

  /// The message behind the last one.
  template <typename T>
  std::span<const std::uint8_t> note(const T& value) {
    const auto where = out(messages()).first(sizeof(T));
    std::memcpy(where.data(), &value, sizeof(T));
    return where;
  }

  template <typename T>
  T received_note() {
    T value;
    std::memcpy(&value, in(messages()).data(), sizeof(T));
    if (value.magic != Offer::kMagic || value.job != pattern().job)
      throw std::runtime_error("the closing message is not this job's: it names job " + std::to_string(value.job));
    return value;
  }

 private:
  [[nodiscard]] Needs needs(const std::string& device, const Address& gid, std::uint32_t sends, std::uint32_t receives,
                            std::uint32_t skip, bool solicited_only) const {
    return {device, gid, layout_.region() + kNote, layout_.region() + kNote, sends, receives, skip, solicited_only};
  }

  [[nodiscard]] std::span<std::uint8_t> at(std::span<std::uint8_t> region, std::uint64_t message) const {
    if (message == messages()) return region.subspan(layout_.region(), kNote);
    const auto& place = layout_.places()[message];
    return region.subspan(place.offset, place.size);
  }

  const Offer& offer_;
  Layout layout_;
  Endpoint endpoint_;
};

std::string progress(const Result& result, std::uint64_t of) {
  return std::to_string(result.completed) + " of " + std::to_string(of) + " requests completed";
}

/// Compares all that arrived, and adds the time to the result's.
Comparison compare_timed(End& end, Side sender, Result& result) {
  const auto started = Clock::now();
  const auto found = compare(end.pattern(), sender, end.layout(), end.inbox());
  result.comparing += std::chrono::duration<double>(Clock::now() - started).count();
  return found;
}

/// The client's part from the moment when both ends are ready.
class Client {
 public:
  Client(const ClientPlan& plan, End& end, const Contact& server, Stream& stream, Result& result)
      : plan_(plan),
        end_(end),
        server_(server),
        stream_(stream),
        result_(result),
        deadline_(Clock::now() + std::chrono::seconds(plan.offer.seconds)),
        requests_(end.messages() + (left() ? 0 : 1)) {}

  void run() {
    try {
      if (plan_.offer.kind == Kind::ping_pong)
        ping_pong();
      else
        batch();
    } catch (const AccessRefused&) {
      if (!left()) throw;
      stopped_ = true;  // the server goes, and its memory window is the first to go
    }
    if (stopped_ || left()) return;
    while (!noted_ || result_.completed < requests_) {
      drain();
      if (!noted_ || result_.completed < requests_) sleep();
    }
    finish();
  }

 private:
  [[nodiscard]] bool left() const { return plan_.offer.ending != Ending::together; }

  void batch() {
    end_.note(Done{Offer::kMagic, plan_.offer.pattern.job, plan_.offer.pattern.messages});
    std::vector<Request> chain;
    for (std::uint64_t posted = 0; result_.completed < requests_ && !stopped_;) {
      for (;;) {
        const auto under_way = posted - result_.completed;
        const auto count = std::min(
            {kChain, static_cast<std::size_t>(plan_.depth - under_way), static_cast<std::size_t>(requests_ - posted)});
        if (count == 0) break;
        chain.clear();
        for (std::size_t n = 0; n < count; ++n) chain.push_back(request(posted++));
        end_.endpoint().post(chain);
      }
      // What has completed makes room for more. All may have, and then nothing is left that could wake us.
      if (!drain()) sleep();
    }
  }

  void ping_pong() {
    for (std::uint64_t n = 0; n < requests_ && !stopped_; ++n) {
      if (n == end_.messages()) end_.note(Done{Offer::kMagic, plan_.offer.pattern.job, plan_.offer.pattern.messages});
      const Request one = request(n);
      end_.endpoint().post({&one, 1});
      // The answer to the closing message is the verdict, for which run() waits.
      while (replies_ <= n && n < end_.messages() && !stopped_) {
        drain();
        if (replies_ <= n) sleep();
      }
    }
  }

  [[nodiscard]] Request request(std::uint64_t message) {
    Request one;
    one.from = message == end_.messages() ? end_.out(message).first(sizeof(Done)) : end_.out(message);
    one.id = message;
    // The server sleeps through the others. An end that is left when the first message has arrived wakes for that one.
    one.solicited = message == 0 || message == end_.messages() || plan_.offer.kind == Kind::ping_pong;
    if (plan_.offer.kind == Kind::write && message < end_.messages()) {
      one.opcode = IBV_WR_RDMA_WRITE;
      one.to = server_.address + end_.layout().places()[message].offset;
      one.rkey = server_.rkey;
    }
    return one;
  }

  /// True when there was a completion.
  bool drain() {
    bool any = false;
    while (const auto one = end_.endpoint().poll()) {
      any = true;
      if ((one->opcode & IBV_WC_RECV) == 0)
        ++result_.completed;
      else if (one->wr_id == end_.messages())
        noted_ = true;
      else
        ++replies_;
    }
    return any;
  }

  void sleep() {
    switch (end_.endpoint().wait(stream_, deadline_)) {
      case Wake::completion:
        return;
      case Wake::late:
        throw Hung("no end within " + std::to_string(plan_.offer.seconds) + " s: " + progress(result_, requests_) +
                   (noted_ ? "" : ", no verdict"));
      case Wake::peer_closed:
        if (!left()) throw std::runtime_error("the server is gone: " + progress(result_, requests_));
        stopped_ = true;  // it was to go; no completion will come
    }
  }

  void finish() {
    const auto verdict = end_.received_note<Verdict>();
    result_.comparing = verdict.comparing;
    result_.comparison = verdict.comparison;
    if (plan_.offer.kind == Kind::ping_pong) result_.comparison.add(compare_timed(end_, Side::server, result_));
    result_.verdict = result_.comparison.wrong == 0 ? "equal" : "differs";
  }

  const ClientPlan& plan_;
  End& end_;
  const Contact& server_;
  Stream& stream_;
  Result& result_;
  Deadline deadline_;
  std::uint64_t requests_;
  std::uint64_t replies_ = 0;
  bool noted_ = false;
  bool stopped_ = false;
};

/// The server's part.
class Server {
 public:
  Server(const Offer& offer, End& end, Stream& stream, Result& result)
      : offer_(offer),
        end_(end),
        stream_(stream),
        result_(result),
        deadline_(Clock::now() + std::chrono::seconds(offer.seconds)) {}

  void run() {
    if (offer_.ending == Ending::unheard) die();
    if (offer_.ending == Ending::first_arrived && offer_.kind == Kind::write) die_after_first_write();
    const auto first = offer_.kind == Kind::write ? end_.messages() : 0;
    for (std::uint64_t next = first; next <= end_.messages();) {
      for (; next <= end_.messages(); ++next) {
        const auto one = received();
        if (!one) break;
        take(*one, next);
      }
      if (next <= end_.messages()) sleep();
    }
    finish();
  }

 private:
  [[noreturn]] static void die() {
    ::kill(::getpid(), SIGKILL);
    ::_exit(1);  // never
  }

  [[noreturn]] void die_after_first_write() {
    const volatile auto& last = end_.in(0).back();
    while (last == 0 && Clock::now() < deadline_ && !stream_.closed()) ::usleep(kLook.count());
    die();
  }

  /// A message, if one has come. Completions of our own answers are only counted.
  std::optional<ibv_wc> received() {
    for (;;) {
      const auto one = end_.endpoint().poll();
      if (!one || (one->opcode & IBV_WC_RECV) != 0) return one;
      ++result_.completed;
    }
  }

  void take(const ibv_wc& one, std::uint64_t message) {
    if (offer_.ending == Ending::first_arrived) die();
    const auto size = message == end_.messages() ? sizeof(Done) : end_.in(message).size();
    if (one.wr_id != message || one.byte_len != size)
      throw std::runtime_error("receive " + std::to_string(one.wr_id) + " got " + std::to_string(one.byte_len) +
                               " bytes, where message " + std::to_string(message) + " has " + std::to_string(size));
    if (offer_.kind == Kind::ping_pong && message < end_.messages()) answer(end_.out(message), message);
  }

  void answer(std::span<const std::uint8_t> bytes, std::uint64_t message) {
    Request one;
    one.from = bytes;
    one.id = message;
    end_.endpoint().post({&one, 1});
  }

  void sleep() {
    switch (end_.endpoint().wait(stream_, deadline_)) {
      case Wake::completion:
        return;
      case Wake::late:
        throw Hung("no end within " + std::to_string(offer_.seconds) + " s");
      case Wake::peer_closed:
        throw std::runtime_error("the client is gone");
    }
  }

  void finish() {
    end_.received_note<Done>();
    result_.comparison = compare_timed(end_, Side::client, result_);
    result_.verdict = result_.comparison.wrong == 0 ? "equal" : "differs";
    answer(end_.note(Verdict{Offer::kMagic, offer_.pattern.job, result_.comparing, result_.comparison}),
           end_.messages());
    // Our QP answers repeats until the client says that it has everything, or is gone.
    try {
      stream_.receive<std::uint8_t>(deadline_);
    } catch (const std::runtime_error&) {
    }
  }

  const Offer& offer_;
  End& end_;
  Stream& stream_;
  Result& result_;
  Deadline deadline_;
};

template <typename Part>
void run_timed(Part& part, Result& result) {
  const auto started = Clock::now();
  try {
    part.run();
  } catch (const Hung& late) {
    result.verdict = "hung";
    result.why = late.what();
  } catch (const std::runtime_error& error) {
    result.verdict = "failed";
    result.why = error.what();
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
}

}  // namespace

Result run_client(const ClientPlan& plan, Stream& stream) {
  Result result;
  Offer offer = plan.offer;
  const bool ping_pong = offer.kind == Kind::ping_pong;
  const auto receives = 1 + (ping_pong ? offer.pattern.messages : 0);
  End end(plan.offer, plan.device, stream.local(), plan.depth, receives, plan.skip, false);
  end.fill_outbox(Side::client);
  for (std::uint64_t n = ping_pong ? 0 : end.messages(); n <= end.messages(); ++n)
    end.endpoint().post_receive(end.in(n), n);
  offer.client = end.endpoint().contact(plan.psn);
  stream.send(offer);
  const auto server = stream.receive<Contact>(Clock::now() + std::chrono::seconds(offer.seconds));
  end.endpoint().connect(offer.client, server, offer.ack_timeout);
  result.qpn = offer.client.qpn;
  result.peer_qpn = server.qpn;
  result.rkey = server.rkey;
  result.bytes = end.layout().bytes();
  Client client(plan, end, server, stream, result);
  run_timed(client, result);
  if (result.verdict.empty()) result.verdict = "left";
  if (offer.ending == Ending::together && result.good()) stream.send(kBye);
  return result;
}

Result run_server(const Offer& offer, const std::string& device, Stream& stream) {
  Result result;
  const auto messages = offer.pattern.messages;
  const auto first = offer.kind == Kind::write ? messages : 0;
  const auto sends = 1 + (offer.kind == Kind::ping_pong ? messages : 0);
  End end(offer, device, stream.local(), sends, 1 + messages - first, 0, true);
  if (offer.kind == Kind::ping_pong) end.fill_outbox(Side::server);
  for (std::uint64_t n = first; n <= messages; ++n) end.endpoint().post_receive(end.in(n), n);
  auto own = end.endpoint().contact(offer.client.psn);
  end.endpoint().connect(own, offer.client, offer.ack_timeout);
  own.rkey = end.endpoint().expose(Clock::now() + std::chrono::seconds(offer.seconds));
  result.qpn = own.qpn;
  result.peer_qpn = offer.client.qpn;
  result.rkey = own.rkey;
  result.bytes = end.layout().bytes();
  stream.send(own);
  Server server(offer, end, stream, result);
  run_timed(server, result);
  // What has arrived of a job that did not end is worth knowing.
  if (!result.good() && result.verdict != "differs")
    result.comparison = compare(end.pattern(), Side::client, end.layout(), end.inbox());
  return result;
}

}  // namespace longhaul::jobs
