// SPDX-License-Identifier: BSD-3-Clause
// The lane: which frames take it, and that all that can be seen is as without it.
#include <catch2/catch.hpp>
#include <functional>

#include "flow/lane_index.hpp"
#include "support/rig.hpp"

using namespace longhaul;
using namespace longhaul::test;

namespace {

/// What left the box, in order: for each step what the host port sent and what the WAN port sent.
struct Told {
  Lines lines;
  std::uint64_t lane_frames = 0;
};

class Story {
 public:
  explicit Story(bool lane) : rig_(settings(lane)) {}

  Rig& rig() { return rig_; }
  void host_sends(const std::vector<Bytes>& burst) {
    step([&] { rig_.host_sends(burst); });
  }
  void wan_sends(const std::vector<Bytes>& burst) {
    step([&] { rig_.wan_sends(burst); });
  }
  void wait(Duration duration) {
    step([&] { rig_.wait(duration); });
  }
  Told seen() const { return {lines_, rig_.count(Counter::lane_frames)}; }
  Counters counters() const {
    Counters counters = rig_.engine->counters();
    counters[Counter::lane_frames] = 0;
    return counters;
  }

 private:
  static engine::Settings settings(bool lane) {
    engine::Settings settings = small_settings();
    settings.lane = lane;
    return settings;
  }
  void step(const std::function<void()>& action) {
    action();
    for (const std::string& line : rig_.at_host()) lines_.push_back("host: " + line);
    for (const std::string& line : rig_.at_wan()) lines_.push_back("wan: " + line);
  }

  Rig rig_;
  Lines lines_;
};

/// Tells the story with the lane and without it. Returns what was seen with it.
Told tell(const std::function<void(Story&)>& tale) {
  Story with(true);
  tale(with);
  const Told seen = with.seen();
  const Counters counters = with.counters();
  Story without(false);
  tale(without);
  CHECK(seen.lines == without.seen().lines);
  CHECK(without.seen().lane_frames == 0);
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i) {
    INFO(metrics::kCounterInfo[i].name);
    CHECK(counters.events[i] == without.counters().events[i]);
  }
  CHECK(counters.parsed == without.counters().parsed);
  return seen;
}

const Pair kPair;

}  // namespace

TEST_CASE("WRITEs and SENDs in order, and the ACK of the oldest, take the lane", "[engine][lane]") {
  const Told seen = tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.host_sends({kPair.write(101), kPair.request("send_only", 102), kPair.silent_write(103)});
    story.wan_sends({kPair.ack(101, 2), kPair.ack(102, 3)});
  });
  CHECK(seen.lines == Lines{"host: ack 101 msn 2", "host: ack 102 msn 3", "wan: write_only 101!", "wan: send_only 102!",
                            "wan: write_only 103"});
  CHECK(seen.lane_frames == 5);
}

TEST_CASE("what is not usual does not take the lane", "[engine][lane]") {
  const auto alone = [](const std::function<void(Story&)>& tale) {
    return tell([&](Story& story) {
             story.rig().connect_confirmed(kPair);
             tale(story);
           })
        .lane_frames;
  };
  CHECK(alone([](Story& story) { story.host_sends({kPair.read(101)}); }) == 0);
  CHECK(alone([](Story& story) { story.host_sends({kPair.atomic(101)}); }) == 0);
  CHECK(alone([](Story& story) { story.host_sends({kPair.write(100)}); }) == 0);        // a repeat
  CHECK(alone([](Story& story) { story.host_sends({kPair.write(103)}); }) == 0);        // beyond a gap
  CHECK(alone([](Story& story) { story.host_sends({kPair.write_again(101)}); }) == 0);  // marked by a switch
  CHECK(alone([](Story& story) { story.wan_sends({kPair.ack(100, 1)}); }) == 0);        // once more
  // With one WRITE, which does.
  const auto after_one = [&](const std::vector<Bytes>& answers) {
    return alone([&](Story& story) {
      story.host_sends({kPair.write(101)});
      story.wan_sends(answers);
    });
  };
  CHECK(after_one({kPair.ack(101, 3)}) == 1);        // another MSN
  CHECK(after_one({kPair.ack(101, 2, 0x05)}) == 1);  // credits
  CHECK(after_one({kPair.nak(101, 1)}) == 1);
  CHECK(after_one({kPair.rnr(101, 1, 1)}) == 1);
  CHECK(after_one({kPair.ack(102, 3)}) == 1);  // what was never sent
  // An ACK of more than the oldest.
  CHECK(alone([](Story& story) {
          story.host_sends({kPair.write(101), kPair.write(102)});
          story.wan_sends({kPair.ack(102, 3)});
        }) == 2);
  // Before an answer confirms the flow; with VLAN tags.
  CHECK(tell([](Story& story) {
          story.rig().connect(kPair);
          story.host_sends({kPair.write(100), kPair.write(101)});
        }).lane_frames == 0);
  CHECK(tell([](Story& story) {
          Pair tagged;
          tagged.vlan = 7;
          story.rig().connect_confirmed(tagged);
          story.host_sends({tagged.write(101)});
          story.wan_sends({tagged.ack(101, 2)});
        }).lane_frames == 0);
}

TEST_CASE("a damaged frame in the lane passes, and changes nothing", "[engine][lane]") {
  const Told seen = tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.host_sends({damaged(kPair.write(101)), kPair.write(101)});
    story.wan_sends({damaged(kPair.ack(101, 2)), kPair.ack(101, 2)});
  });
  CHECK(seen.lane_frames == 4);
}

TEST_CASE("the lane and a port that takes part of a burst", "[engine][lane]") {
  const Told seen = tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.rig().allow(Side::wan, 2);
    story.host_sends(kPair.writes(101, 5));
    story.wan_sends({kPair.ack(101, 2)});
    story.rig().allow(Side::wan, Rig::kUnlimited);
    story.wait(milliseconds(1));
    story.wan_sends({kPair.ack(102, 3), kPair.ack(103, 4), kPair.ack(104, 5), kPair.ack(105, 6)});
  });
  // Only what the port has taken is acknowledged.
  CHECK(Lines(seen.lines.begin(), seen.lines.begin() + 4) ==
        Lines{"host: ack 101 msn 2", "host: ack 102 msn 3", "wan: write_only 101!", "wan: write_only 102!"});
}

TEST_CASE("the lane and a port that takes nothing", "[engine][lane]") {
  tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.rig().allow(Side::wan, 0);
    story.host_sends(kPair.writes(101, 3));
    story.host_sends({kPair.write(104)});
    story.wan_sends({kPair.ack(101, 2)});
    story.rig().allow(Side::wan, Rig::kUnlimited);
    story.wait(milliseconds(1));
  });
}

TEST_CASE("a NAK and the ACK of what it sends again, in one burst with the lane", "[engine][lane]") {
  tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.host_sends(kPair.writes(101, 3));
    story.wan_sends({kPair.nak(101, 1), kPair.ack(101, 2), kPair.ack(102, 3)});
    story.wait(seconds(2));
    story.wan_sends({kPair.ack(103, 4)});
  });
}

TEST_CASE("RDMA-CM messages inside a burst with the lane", "[engine][lane]") {
  Pair next = kPair;  // the same QPs, connected anew
  next.a_comm = 0xa2;
  next.b_comm = 0xb2;
  next.transaction = 0x78;
  next.a_psn = 101;
  tell([&](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.host_sends({kPair.write(101), next.req(), kPair.write(102)});
    story.wan_sends({kPair.ack(101, 2), next.rep(), kPair.ack(102, 3)});
    story.host_sends({next.rtu(), next.write(101), next.write(102)});
    story.wan_sends({next.ack(101, 1), next.ack(102, 2)});
    story.wait(seconds(2));
  });
}

TEST_CASE("DREQs and DREPs inside a burst with the lane", "[engine][lane]") {
  tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    story.host_sends({kPair.write(101), kPair.dreq(Side::host), kPair.write(102)});
    // The ACK of the last packet in custody lets the DREQ go.
    story.wan_sends({kPair.ack(101, 2), kPair.ack(102, 3)});
    story.wan_sends({kPair.drep(Side::wan), kPair.ack(102, 3)});
    story.host_sends({kPair.write(103)});
    story.wait(seconds(5));
  });
}

TEST_CASE("the lane waits for the pace, and for the loss window", "[engine][lane]") {
  tell([](Story& story) {
    story.rig().connect_confirmed(kPair);
    std::uint32_t psn = 101;
    // Losses in a row leave a window of a few packets.
    for (int i = 0; i < 12; ++i) {
      story.host_sends(kPair.writes(psn, 2));
      story.wan_sends({kPair.nak(psn, psn - 100)});
      story.wait(milliseconds(20));
      story.wan_sends({kPair.ack(psn, psn - 99), kPair.ack(psn + 1, psn - 98)});
      psn += 2;
    }
    for (int i = 0; i < 6; ++i) story.host_sends(kPair.writes(psn + 20 * static_cast<std::uint32_t>(i), 20));
    story.wan_sends({kPair.ack(psn, psn - 99), kPair.ack(psn + 1, psn - 98)});
    story.wait(milliseconds(1));
  });
}

TEST_CASE("keys that share a bucket of the lane's index are told apart, and the fifth is not there", "[flow][lane]") {
  using flow::LaneIndex;
  LaneIndex index(1);
  const auto key = [](std::uint32_t number) { return LaneIndex::Key::of(Side::host, 0x0200000a0100000a, number); };
  const auto find = [&](const LaneIndex::Key& sought) { return index.find(sought, index.bucket_of(sought)); };
  for (std::uint32_t i = 0; i < 5; ++i) index.put(key(i), 100 + i);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(find(key(i)) == 100 + i);
  CHECK(find(key(4)) == LaneIndex::kNone);
  CHECK(find(LaneIndex::Key::of(Side::wan, 0x0200000a0100000a, 1)) == LaneIndex::kNone);
  CHECK(find(LaneIndex::Key::of(Side::host, 0x0200000a0100000b, 1)) == LaneIndex::kNone);
  index.erase(key(2));
  index.erase(key(4));
  CHECK(find(key(2)) == LaneIndex::kNone);
  CHECK(find(key(3)) == 103);
  index.put(key(4), 104);
  CHECK(find(key(4)) == 104);
}
