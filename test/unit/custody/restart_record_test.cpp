// SPDX-License-Identifier: BSD-3-Clause
// One slot of the restart record: what it says, and that it stays right if a kill comes at any instruction.
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "custody/restart_record.hpp"

using namespace longhaul;
using custody::RecordedConnection;
using custody::RecordSlot;
using State = custody::RecordSlot::State;

namespace {

flow::ConnectionInfo some_connection(std::uint32_t qpn) {
  flow::ConnectionInfo info;
  info.end(Side::host) = {wire::IpAddress::parse("10.0.0.1"), qpn, 100};
  info.end(Side::wan) = {wire::IpAddress::parse("fd00::2"), 0x22, 500};
  info.vlan.value = 0x81000007;
  info.path_mtu = 4096;
  info.retry_count = 7;
  info.ack_timeout = milliseconds(67);
  return info;
}

RecordedConnection recorded(std::uint32_t qpn) {
  return RecordedConnection::of(some_connection(qpn), flow::CmExchange{Side::wan, 0xa1, 0xb1});
}

/// A slot in memory that a forked process shares.
class SharedSlot {
 public:
  SharedSlot() : memory_(mmap(nullptr, sizeof(RecordSlot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
  }
  ~SharedSlot() { munmap(memory_, sizeof(RecordSlot)); }
  SharedSlot(const SharedSlot&) = delete;
  SharedSlot& operator=(const SharedSlot&) = delete;
  RecordSlot& operator*() const { return *static_cast<RecordSlot*>(memory_); }

 private:
  void* memory_;
};

/// Runs `work` in a process of its own, and calls `look` after each instruction, because any of them could have been
/// the last. Returns the number of instructions.
unsigned at_every_instruction(const std::function<void()>& work, const std::function<void()>& look) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(3);
    raise(SIGSTOP);
    work();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP));
  unsigned instructions = 0;
  for (; instructions < 1'000'000; ++instructions) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 || waitpid(child, &status, 0) != child ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
      break;
    look();
  }
  const bool reached_end = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  REQUIRE(reached_end);
  return instructions;
}

}  // namespace

TEST_CASE("a slot says what was written into it", "[restart]") {
  RecordSlot slot{};
  CHECK(slot.state() == State::empty);
  slot.open(recorded(0x11));
  CHECK(slot.state() == State::settled);
  slot.promise(103, 3, 300);
  CHECK(slot.state() == State::owing);
  CHECK(slot.owed_bytes() == 300);
  slot.answered(100);
  slot.promise(0xffffff, 0xfffffe, 400);
  CHECK(slot.owed_bytes() == 300);
  CHECK(slot.promised().h == 0xffffff);
  CHECK(slot.promised().msn_h == 0xfffffe);
  slot.answered(450);  // more than was promised
  CHECK(slot.state() == State::settled);
  CHECK(slot.owed_bytes() == 0);
  slot.clear();
  CHECK(slot.state() == State::empty);
  slot.open(recorded(0x12));
  CHECK(slot.promised().h == 0);
  CHECK(slot.promised().msn_h == 0);
}

TEST_CASE("a connection comes back from its slot as it went in", "[restart]") {
  const flow::ConnectionInfo in = some_connection(0xabcdef);
  const flow::ConnectionInfo out = recorded(0xabcdef).info();
  for (const Side side : {Side::host, Side::wan}) {
    CHECK(out.end(side).ip == in.end(side).ip);
    CHECK(out.end(side).qpn == in.end(side).qpn);
    CHECK(out.end(side).starting_psn == in.end(side).starting_psn);
  }
  CHECK(out.vlan == in.vlan);
  CHECK(out.path_mtu == in.path_mtu);
  CHECK(out.retry_count == in.retry_count);
  CHECK(out.ack_timeout == in.ack_timeout);
  const auto exchange = recorded(1).exchange();
  REQUIRE(exchange);
  CHECK(exchange->active_side == Side::wan);
  CHECK(exchange->active_comm_id == 0xa1);
  CHECK(exchange->passive_comm_id == 0xb1);
  CHECK_FALSE(RecordedConnection::of(in, std::nullopt).exchange());
}

TEST_CASE("one wrong bit in what names the connection is damage, and so is an impossible PSN", "[restart]") {
  std::vector<RecordSlot> record(1);
  record[0].open(recorded(0x11));
  record[0].promise(103, 3, 300);
  auto* bytes = reinterpret_cast<std::uint8_t*>(record.data());
  for (std::size_t bit = 48 * 8; bit < sizeof(RecordSlot) * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    if (record[0].state() != State::damaged) FAIL("bit " << bit);
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
  }
  CHECK(record[0].state() == State::owing);
  record[0].promise(1 << 24, 3, 300);
  CHECK(record[0].state() == State::damaged);
}

TEST_CASE("killed at any instruction of a promise: the one before stands, or the new one, whole", "[restart]") {
  const SharedSlot shared;
  RecordSlot& slot = *shared;
  slot.open(recorded(0x11));
  slot.promise(103, 3, 300);
  unsigned before = 0;
  unsigned after = 0;
  at_every_instruction([&slot] { slot.promise(200, 50, 9000); },
                       [&] {
                         const auto promise = slot.promised();
                         if (slot.state() != State::owing) FAIL("not owing");
                         if (promise.h == 103 && promise.msn_h == 3 && slot.owed_bytes() == 300)
                           ++before;
                         else if (promise.h == 200 && promise.msn_h == 50 && slot.owed_bytes() == 9000)
                           ++after;
                         else
                           FAIL("h " << promise.h << ", MSN " << promise.msn_h << ", owed " << slot.owed_bytes());
                       });
  CHECK(before > 0);
  CHECK(after > 0);
}

TEST_CASE("killed at any instruction of the first promise: nothing is owed, or all of it", "[restart]") {
  const SharedSlot shared;
  RecordSlot& slot = *shared;
  slot.open(recorded(0x11));
  at_every_instruction([&slot] { slot.promise(200, 50, 9000); },
                       [&] {
                         if (slot.state() == State::settled) return;
                         if (slot.state() != State::owing || slot.promised().h != 200 || slot.owed_bytes() != 9000)
                           FAIL("h " << slot.promised().h << ", owed " << slot.owed_bytes());
                       });
  CHECK(slot.owed_bytes() == 9000);
}

TEST_CASE("killed at any instruction as another connection takes the slot: no mixture of the two", "[restart]") {
  const SharedSlot shared;
  RecordSlot& slot = *shared;
  slot.open(recorded(0x11));
  slot.promise(103, 3, 300);
  bool empty = false;
  at_every_instruction([&slot] { slot.open(recorded(0x33)); },
                       [&] {
                         const State state = slot.state();
                         empty = empty || state == State::empty;
                         if (state == State::empty) return;
                         const std::uint32_t qpn = slot.connection().qpns[Side::host];
                         const bool old = state == State::owing && qpn == 0x11 && slot.owed_bytes() == 300;
                         const bool fresh = state == State::settled && qpn == 0x33;
                         if (!old && !fresh) FAIL("state " << static_cast<int>(state) << ", QPN " << qpn);
                       });
  CHECK(empty);
  CHECK(slot.connection().qpns[Side::host] == 0x33);
}
