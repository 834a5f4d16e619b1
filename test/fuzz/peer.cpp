// SPDX-License-Identifier: BSD-3-Clause
// Two boxes with an address each (lib/peer), and somebody between them. The first byte says who:
//
//   0  without a key: lets frames go on, drops them, keeps copies, sends copies again as they were or altered, cut or
//   to
//      the other side, makes up frames; one of the boxes may begin anew at any moment.
//   1  with the key, in place of the second box: makes sessions as it likes, and says anything on them.
//
// Then operations: a byte each, with what they need. Judged: nothing but what the other box sent, and that once, counts
// as received; whoever is left alone again is up, with the other's true epoch; no box sends without end.
#include "peer/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "../unit/support/two_boxes.hpp"
#include "expect.hpp"
#include "input.hpp"

using namespace longhaul;
using namespace longhaul::fuzz;
using test::End;
using test::is_datagram;
using test::kHeaders;
using test::TwoBoxes;

namespace {

/// Source address, destination address, payload: what the tag covers.
Bytes covered(const test::Frame& frame) {
  Bytes out(frame.begin() + 14 + 12, frame.begin() + 14 + 20);
  out.insert(out.end(), frame.begin() + kHeaders, frame.end());
  return out;
}

/// Checksums do not keep an attacker out.
void mend_checksums(test::Frame& frame) {
  if (!is_datagram(frame)) return;
  const wire::Be16 checksum = wire::ipv4_checksum(std::span(frame).subspan(14, sizeof(wire::Ipv4Header)));
  std::memcpy(frame.data() + 24, &checksum, sizeof(checksum));
  frame[40] = frame[41] = 0;
}

void check_quiet(TwoBoxes& boxes) {
  for (End* end : {&boxes.a, &boxes.b})
    if (end->peers) end->peers->poll(boxes.now);
  for (const End* end : {&boxes.a, &boxes.b})
    if (end->peers) expect(end->peers->deadline() > boxes.now, "a box wants to be called again at once");
}

// ---- without a key ------------------------------------------------------------------------------

class Attack {
 public:
  explicit Attack(Input& input) : input_(input) {
    boxes_.link = [this](unsigned from, const test::Frame& frame) {
      if (is_datagram(frame)) sent_[from].insert(covered(frame));
      if (kept_.size() < 200) kept_.emplace_back(from, frame);
      std::vector<Duration> fates;
      if (passes_) fates.push_back(boxes_.delay);
      return fates;
    };
    boxes_.begin();
  }

  void run() {
    for (unsigned steps = 0; !input_.empty() && steps < 300; ++steps) step();
    passes_ = true;
    boxes_.run(seconds(8));
    check_quiet(boxes_);
    const std::uint64_t events = boxes_.events;
    expect(boxes_.both_up(), "two boxes that are left alone are not up");
    expect(boxes_.a.report().epoch == boxes_.b.peers->report(boxes_.now).epoch &&
               boxes_.b.report().epoch == boxes_.a.peers->report(boxes_.now).epoch,
           "a box believes in another life of its peer");
    const auto stays = boxes_.run(seconds(3), [&] { return !boxes_.both_up(); });
    expect(!stays, "a box that is left alone goes down");
    expect(boxes_.events - events < 3 * 60, "boxes that are left alone have much to say");
  }

 private:
  void step() {
    switch (input_.u8() % 6) {
      case 0:
        boxes_.run(milliseconds(input_.u8()) * (input_.flag() ? 50 : 1));
        check_quiet(boxes_);
        return;
      case 1:
        passes_ = !passes_;
        return;
      case 2: {
        End& end = input_.flag() ? boxes_.a : boxes_.b;
        end.peers.reset();
        end.begin(boxes_.now);
        return;
      }
      case 3:
        if (!kept_.empty()) {
          const auto [from, frame] = kept_[input_.u8() % kept_.size()];
          hostile(input_.flag() ? from : 1 - from, frame);
        }
        return;
      case 4:
        if (!kept_.empty()) {
          auto [from, frame] = kept_[input_.u8() % kept_.size()];
          for (unsigned changes = input_.u8() % 4; changes > 0 && !frame.empty(); --changes)
            frame[input_.u8() % frame.size()] ^= input_.u8();
          if (input_.flag()) frame.resize(std::min<std::size_t>(frame.size(), input_.u8()));
          if (input_.flag()) mend_checksums(frame);
          hostile(input_.flag() ? from : 1 - from, frame);
        }
        return;
      case 5: {
        const auto made = input_.take(input_.u8());
        hostile(input_.u8() & 1u, test::Frame(made.begin(), made.end()));
        return;
      }
    }
  }

  /// Counts as received at most once, and only if the other has sent it.
  void hostile(unsigned to, const test::Frame& frame) {
    End& end = to == 0 ? boxes_.a : boxes_.b;
    const Exact exact(frame);
    const bool ours = end.peers->is_for_us(exact.bytes());
    const std::uint64_t before = end.report().received;
    if (ours) end.peers->take(exact.bytes(), boxes_.now);
    std::uint64_t gained = end.report().received - before;
    if (defect("forged") && ours) ++gained;
    if (gained == 0) return;
    expect(gained == 1 && is_datagram(frame), "one datagram counts twice");
    expect(sent_[1 - to].count(covered(frame)) == 1, "a datagram is received that nobody has sent");
    expect(taken_[to].insert({end.peers.get(), covered(frame)}).second, "a datagram is received a second time");
  }

  Input& input_;
  TwoBoxes boxes_;
  bool passes_ = true;
  std::array<std::set<Bytes>, 2> sent_;
  std::array<std::set<std::pair<const peer::Peers*, Bytes>>, 2> taken_;
  std::vector<std::pair<unsigned, test::Frame>> kept_;
};

// ---- with the key -------------------------------------------------------------------------------

class Liar {
 public:
  explicit Liar(Input& input) : input_(input) {
    boxes_.link = [this](unsigned from, const test::Frame& frame) {
      if (from == 0 && is_datagram(frame)) hear(frame);
      return std::vector<Duration>{boxes_.delay};
    };
    // The second box's station answers for the liar, whose peer is nobody's.
    boxes_.b.settings.peers.front().address = wire::IpAddress::parse("192.0.2.99");
    boxes_.begin();
    boxes_.run(milliseconds(50));
  }

  void run() {
    for (unsigned steps = 0; !input_.empty() && steps < 300; ++steps) {
      step();
      const peer::PeerReport report = boxes_.a.report();
      expect(report.sessions <= peer::Peer::kMostSessions, "more sessions than there may be");
      expect(report.sent < 100 + 20 * (boxes_.now - began_) / seconds(1) + 2 * said_, "a box answers without end");
    }
    const auto gone = boxes_.run(peer::Peer::kGoneAtMost + milliseconds(1), [&] { return !boxes_.a.up(); });
    expect(gone || !boxes_.a.up(), "a peer that says nothing any more is up");
    check_quiet(boxes_);
    if (defect("sessions")) expect(boxes_.a.report().sessions > 9, "more sessions than there may be");
  }

 private:
  static constexpr std::uint16_t kWorker = 0;

  void step() {
    switch (input_.u8() % 5) {
      case 0:
        boxes_.run(milliseconds(input_.u8()) * (input_.flag() ? 20 : 1));
        check_quiet(boxes_);
        return;
      case 1: {  // INIT with any fields, and more behind them
        init_.assign(sizeof(peer::Init), 0);
        for (std::uint8_t& byte : init_) byte = input_.flag() ? input_.u8() : 1;
        const auto surplus = input_.take(input_.u8());
        init_.insert(init_.end(), surplus.begin(), surplus.end());
        say_hello(peer::Type::init, key_.id(), init_);
        return;
      }
      case 2: {  // CONFIRM of the last RESPONSE, perhaps altered
        if (response_.empty()) return;
        const peer::SessionKeys keys(key_, init_, response_, kToBox);
        cookie_ = keys.cookie_to(peer::Role::responder);
        sending_ = keys.sending(peer::Role::initiator, kWorker);
        sequence_ = 0;
        Bytes body(sizeof(peer::Confirm));
        new (body.data()) peer::Confirm{key_.id(), static_cast<std::uint16_t>(init_.size())};
        body.insert(body.end(), init_.begin(), init_.end());
        body.insert(body.end(), response_.begin(), response_.end());
        if (input_.flag()) body[input_.u8() % body.size()] ^= input_.u8();
        say(static_cast<std::uint8_t>(peer::Type::confirm), body);
        return;
      }
      case 3: {  // anything on the session
        const std::uint8_t type = input_.u8();
        const auto body = input_.take(input_.u8());
        if (input_.flag()) sequence_ += input_.u24();
        say(type, Bytes(body.begin(), body.end()));
        return;
      }
      case 4: {  // a RESPONSE or a REFUSE to the box's own INIT
        Bytes body(sizeof(peer::Response));
        for (std::uint8_t& byte : body) byte = input_.flag() ? input_.u8() : 1;
        say_hello(input_.flag() ? peer::Type::response : peer::Type::refuse, token_, body);
        return;
      }
    }
  }

  void hear(const test::Frame& frame) {
    peer::Datagram datagram;
    if (!datagram.take(std::span(frame).subspan(kHeaders))) return;
    const auto body = datagram.body();
    if (datagram.is(peer::Type::response)) response_.assign(body.begin(), body.end());
    if (datagram.is(peer::Type::init) && !body.empty()) token_ = datagram.body_as<peer::Init>()->token;
  }
  void say_hello(peer::Type type, peer::Cookie cookie, const Bytes& body) {
    auto datagram = peer::datagram_of({1, static_cast<std::uint8_t>(type), 0, 0, cookie}, body);
    peer::seal(datagram, key_.hello(), kToBox);
    send(datagram);
  }
  void say(std::uint8_t type, const Bytes& body) {
    const std::uint16_t worker = input_.flag() ? input_.u16() : kWorker;
    auto datagram = peer::datagram_of({1, type, worker, ++sequence_, cookie_}, body);
    peer::seal(datagram, sending_, kToBox);
    send(datagram);
  }
  /// As the second box's station would: the two share an address.
  void send(const std::vector<std::uint8_t>& datagram) {
    if (datagram.size() > peer::kMostDatagramBytes + 100) return;
    ++said_;
    test::Frame frame = envelope();
    const auto put16 = [&frame](std::size_t at, std::size_t value) {
      frame[at] = static_cast<std::uint8_t>(value >> 8);
      frame[at + 1] = static_cast<std::uint8_t>(value);
    };
    put16(14 + 2, 20 + 8 + datagram.size());
    put16(14 + 20 + 4, 8 + datagram.size());
    frame.insert(frame.end(), datagram.begin(), datagram.end());
    mend_checksums(frame);
    const Exact exact(frame);
    if (boxes_.a.peers->is_for_us(exact.bytes())) boxes_.a.peers->take(exact.bytes(), boxes_.now);
    check_quiet(boxes_);
  }
  static test::Frame envelope() {
    return {2, 0,  0,  0, 0, 1,   2, 0, 0, 0,   0, 2, 8, 0,    0x45, 0,    0,    0, 0, 0, 0x40,
            0, 64, 17, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1, 0xbb, 0x26, 0xbb, 0x26, 0, 0, 0, 0};
  }

  inline static const peer::Path kToBox{wire::IpAddress::parse("192.0.2.2"), wire::IpAddress::parse("192.0.2.1")};

  Input& input_;
  TwoBoxes boxes_;
  const Time began_ = boxes_.now;
  const peer::PreSharedKey key_ = test::key_number(1);
  Bytes init_ = Bytes(sizeof(peer::Init), 1);
  Bytes response_;
  peer::Cookie token_ = 0;
  peer::Cookie cookie_ = 0;
  peer::Key sending_{};
  std::uint32_t sequence_ = 0;
  std::uint64_t said_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.flag())
    Liar(input).run();
  else
    Attack(input).run();
  return 0;
}
