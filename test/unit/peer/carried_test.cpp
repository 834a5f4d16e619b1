// SPDX-License-Identifier: BSD-3-Clause
// Messages about flows between the workers of two boxes: who may speak to whom, and what is before the body
// (docs/peer-protocol.md, sections 5 and 9.6).
#include <catch2/catch.hpp>

#include "peer/datagram.hpp"
#include "support/two_boxes.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

constexpr std::uint32_t kOne = peer::kRepairs;
constexpr std::uint32_t kSeveral = peer::kWorkersRepair;
constexpr std::uint8_t kState = 35;
const Frame kBody = {1, 2, 3, 4, 5};

struct Box {
  std::uint16_t workers;
  std::uint32_t features;
};

void meet(TwoBoxes& boxes) {
  boxes.begin();
  REQUIRE(boxes.run(seconds(5), [&] { return boxes.both_up(); }));
  boxes.run(seconds(1));
  boxes.log.clear();
}

/// So many of the peer's workers repair; 0: it does not.
unsigned repairing(const End& end) {
  unsigned workers = 0;
  end.peers->for_repairing([&](const peer::Peer& peer) { workers = peer.repairing_workers(); });
  return workers;
}

void say(TwoBoxes& boxes, End& end, std::uint16_t from, std::uint16_t to) {
  end.peers->for_repairing([&](const peer::Peer& peer) {
    end.peers->carry(peer.number(), {from, to, kState, kBody}, boxes.now);
  });
  boxes.run(milliseconds(20));
}

/// Of the datagrams of carried types: what is between header and tag.
std::vector<Frame> bodies(const TwoBoxes& boxes) {
  std::vector<Frame> out;
  for (const auto& sent : boxes.log)
    if (is_datagram(sent.frame) && sent.frame[kHeaders + 1] == kState)
      out.emplace_back(sent.frame.begin() + kHeaders + sizeof(peer::Header), sent.frame.end() - sizeof(peer::Tag));
  return out;
}

}  // namespace

TEST_CASE("which boxes repair flows together", "[peer][workers]") {
  struct Row {
    Box a, b;
    unsigned of_b, of_a;  // workers that a finds in b, and b in a
  };
  const auto row = GENERATE(values<Row>({
      {{1, kOne | kSeveral}, {1, kOne | kSeveral}, 1, 1},
      {{1, kOne}, {1, kOne | kSeveral}, 1, 1},
      {{4, kSeveral}, {1, kOne | kSeveral}, 1, 4},
      {{4, kSeveral}, {64, kSeveral}, 64, 4},
      {{4, kSeveral}, {1, kOne}, 0, 0},  // a box of before
      {{4, kSeveral}, {4, 0}, 0, 0},
      {{1, 0}, {1, kOne | kSeveral}, 0, 0},
  }));
  TwoBoxes boxes;
  boxes.a.workers = row.a.workers;
  boxes.a.features = row.a.features;
  boxes.b.workers = row.b.workers;
  boxes.b.features = row.b.features;
  meet(boxes);
  CHECK(repairing(boxes.a) == row.of_b);
  CHECK(repairing(boxes.b) == row.of_a);
}

TEST_CASE("boxes of one worker each say what they always said", "[peer][workers]") {
  TwoBoxes boxes;
  boxes.a.features = boxes.b.features = kOne | kSeveral;
  meet(boxes);
  say(boxes, boxes.a, 0, 0);
  REQUIRE(boxes.b.heard.size() == 1);
  CHECK(boxes.b.heard[0].from == 0);
  CHECK(boxes.b.heard[0].to == 0);
  CHECK(boxes.b.heard[0].body == kBody);
  CHECK(bodies(boxes) == std::vector<Frame>(1, kBody));
}

TEST_CASE("a message names the worker that it is from, and the one that it is for", "[peer][workers]") {
  TwoBoxes boxes;
  boxes.a.workers = 4;
  boxes.b.workers = 2;
  boxes.a.features = boxes.b.features = kSeveral;
  meet(boxes);
  say(boxes, boxes.a, 3, 1);
  say(boxes, boxes.a, 3, peer::kToAll);
  say(boxes, boxes.b, 1, 2);
  REQUIRE(boxes.b.heard.size() == 2);
  CHECK(boxes.b.heard[0].from == 3);
  CHECK(boxes.b.heard[0].to == 1);
  CHECK(boxes.b.heard[0].body == kBody);
  CHECK(boxes.b.heard[1].to == peer::kToAll);
  REQUIRE(boxes.a.heard.size() == 1);
  CHECK(boxes.a.heard[0].from == 1);
  CHECK(boxes.a.heard[0].to == 2);
  CHECK(bodies(boxes) == std::vector<Frame>{{0, 1, 1, 2, 3, 4, 5}, {0xff, 0xff, 1, 2, 3, 4, 5}, {0, 2, 1, 2, 3, 4, 5}});

  SECTION("one that is for a worker that is not there is dropped, and counted") {
    say(boxes, boxes.a, 0, 2);
    CHECK(boxes.b.heard.size() == 2);
    CHECK(boxes.b.dropped(peer::Drop::malformed) == 1);
  }
  SECTION("each worker has a row of sequence numbers of its own, and nothing counts twice") {
    say(boxes, boxes.a, 2, 0);
    const auto sequence_of = [](const Frame& frame) {
      return unsigned{frame[kHeaders + 6]} << 8 | unsigned{frame[kHeaders + 7]};
    };
    std::vector<unsigned> numbers;
    std::vector<Frame> again;
    for (const auto& sent : boxes.log)
      if (sent.from == 0 && is_datagram(sent.frame) && sent.frame[kHeaders + 1] == kState)
        numbers.push_back(sequence_of(sent.frame)), again.push_back(sent.frame);
    CHECK(numbers == std::vector<unsigned>{1, 2, 1});
    const std::size_t before = boxes.b.heard.size();
    for (const Frame& frame : again) boxes.deliver(1, frame);
    CHECK(boxes.b.heard.size() == before);
    CHECK(boxes.b.dropped(peer::Drop::replayed) == 3);
  }
  SECTION("a number that another worker has used does not fit its key") {
    Frame forged;
    for (const auto& sent : boxes.log)
      if (sent.from == 0 && is_datagram(sent.frame) && sent.frame[kHeaders + 1] == kState) forged = sent.frame;
    forged[kHeaders + 3] = 2;  // the worker
    boxes.deliver(1, forged);
    CHECK(boxes.b.dropped(peer::Drop::forged) == 1);
  }
}
