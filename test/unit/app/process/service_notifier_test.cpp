// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/process/service_notifier.hpp"
#include "support/temporary_directory.hpp"

using longhaul::app::ServiceNotifier;

namespace {

/// An environment variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// systemd's end: a datagram socket in its own directory.
class Manager {
 public:
  Manager() {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(socket_ >= 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Manager() { close(socket_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string path() const { return directory_ / "notify"; }
  /// The next message. Its datagram has arrived when sd_notify() returns.
  std::optional<std::string> heard() const {
    char text[4096];
    const ssize_t bytes = recv(socket_, text, sizeof text, 0);
    if (bytes < 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(bytes));
  }

 private:
  longhaul::test::TemporaryDirectory directory_;
  int socket_ = -1;
};

}  // namespace

TEST_CASE("the service manager hears of readiness, status, life and end") {
  const Manager manager;
  const Variable where("NOTIFY_SOCKET", manager.path());
  ServiceNotifier notifier;
  CHECK(notifier.enabled());
  notifier.ready("near: ready, mtu 9000");
  CHECK(manager.heard() == "READY=1\nSTATUS=near: ready, mtu 9000");
  notifier.watchdog();
  CHECK(manager.heard() == "WATCHDOG=1");
  notifier.status("12 connections");
  CHECK(manager.heard() == "STATUS=12 connections");
  notifier.stopping("draining, 1000 bytes", longhaul::seconds(25));
  CHECK(manager.heard() == "STOPPING=1\nSTATUS=draining, 1000 bytes\nEXTEND_TIMEOUT_USEC=25000000");
  notifier.reloading();
  const auto reloading = manager.heard();
  REQUIRE(reloading);
  CHECK_THAT(*reloading, Catch::Matchers::StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  CHECK(std::strtoull(reloading->c_str() + std::strlen("RELOADING=1\nMONOTONIC_USEC="), nullptr, 10) > 0);
  CHECK_FALSE(manager.heard());
}

TEST_CASE("a status of several lines sets no other variables") {
  const Manager manager;
  const Variable where("NOTIFY_SOCKET", manager.path());
  ServiceNotifier().status("one\nREADY=1");
  CHECK(manager.heard() == "STATUS=one READY=1");
}

TEST_CASE("the watchdog wants to hear twice in the time that it waits") {
  SECTION("as it says") {
    const Variable time("WATCHDOG_USEC", "5000000");
    CHECK(ServiceNotifier().watchdog_interval() == longhaul::milliseconds(2500));
  }
  SECTION("not at all") { CHECK_FALSE(ServiceNotifier().watchdog_interval()); }
  SECTION("for another process") {
    const Variable time("WATCHDOG_USEC", "5000000");
    const Variable process("WATCHDOG_PID", "1");
    CHECK_FALSE(ServiceNotifier().watchdog_interval());
  }
}

TEST_CASE("without a service manager nothing is sent, and one that is gone stops nobody") {
  const Manager manager;
  ServiceNotifier alone;
  CHECK_FALSE(alone.enabled());
  alone.ready("nobody hears");
  CHECK_FALSE(manager.heard());
  const Variable where("NOTIFY_SOCKET", manager.path() + "-gone");
  ServiceNotifier unheard;
  CHECK(unheard.enabled());
  unheard.ready("nobody hears");
  unheard.watchdog();
  CHECK_FALSE(manager.heard());
}
