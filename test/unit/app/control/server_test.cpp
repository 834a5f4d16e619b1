// SPDX-License-Identifier: BSD-3-Clause
// The control socket with real clients: what they can take is bounded, and none delays another.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/control/arguments.hpp"
#include "app/control/listen.hpp"
#include "app/control/server.hpp"
#include "app/ctl/client.hpp"
#include "app/protocol/socket.hpp"
#include "config/config_error.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul;
using namespace longhaul::app;
using Milliseconds = std::chrono::milliseconds;

namespace {

config::ControlConfig at(const std::string& socket) {
  config::ControlConfig config;
  config.socket = socket;
  config.position = "box.yaml:1:1: control";
  return config;
}

/// Repeats its request in the reply.
void echo(const Json& request, Reply& reply) {
  reply.line({{"progress", 1}});
  reply.line({{"done", true}, {"asked", request}});
}

/// A client that may behave badly.
class Raw {
 public:
  explicit Raw(const std::string& path) : file_(connect_to(path)) {}
  ~Raw() { close(file_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void say(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(file_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count < 0) return;  // the server may have heard enough before the client has said all
      sent += static_cast<std::size_t>(count);
    }
  }
  /// Reads until the other end closes.
  std::string hear() const {
    std::string heard;
    char bytes[4096];
    for (ssize_t count = 0; (count = recv(file_, bytes, sizeof(bytes), 0)) > 0;)
      heard.append(bytes, static_cast<std::size_t>(count));
    return heard;
  }

 private:
  int file_;
};

std::string answer_to(const std::string& path, const std::string& text) {
  const Raw client(path);
  client.say(text);
  return client.hear();
}

struct Serving {
  explicit Serving(const std::string& path, ControlServer::Handler handler = echo, ServerLimits limits = {})
      : server(at(path), std::move(handler), limits) {
    server.start();
  }
  ControlServer server;
};

}  // namespace

TEST_CASE("a request is answered line by line, and the socket belongs to whom the configuration says", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "new/box.sock";
  {
    const Serving serving(path);
    std::vector<Json> lines;
    const Json last = ask(path, {{"command", "x"}, {"n", 7}}, [&](const Json& line) { lines.push_back(line); });
    CHECK(lines == std::vector<Json>{{{"progress", 1}}});
    CHECK(last["asked"]["n"] == 7);
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0660);
    CHECK(only_socket_in(directory / "new") == path);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_THROWS_WITH(ask(path, {{"command", "x"}}), Catch::Contains("no such socket"));
  CHECK_THROWS_WITH(only_socket_in(directory / "new"), Catch::Contains("no box listens in"));
}

TEST_CASE("the socket of a dead process is replaced, that of a living one and other files are not", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  close(listen_at(at(path)));  // the file stays, as it does after kill -9
  REQUIRE(std::filesystem::exists(path));
  CHECK_THROWS_WITH(connect_to(path), Catch::Contains("has ended"));
  CHECK_THROWS_WITH(only_socket_in(directory.path), Catch::Contains("has ended"));
  {
    const Serving serving(path);
    CHECK(ask(path, {{"command", "x"}})["asked"]["command"] == "x");
    CHECK_THROWS_AS(listen_at(at(path)), config::ConfigError);
    CHECK_THROWS_WITH(listen_at(at(path)), Catch::Contains("box.yaml:1:1: control.socket") &&
                                               Catch::Contains("another process listens on it"));
    CHECK(ask(path, {{"command", "x"}})["asked"]["command"] == "x");
    const Serving other(directory / "other.sock");
    CHECK_THROWS_WITH(only_socket_in(directory.path),
                      Catch::Contains("several boxes") && Catch::Contains("other.sock"));
  }
  const std::string file = directory / "file";
  std::ofstream(file) << "precious";
  CHECK_THROWS_WITH(listen_at(at(file)), Catch::Contains("is not a socket"));
  CHECK(std::filesystem::file_size(file) == 8);
  config::ControlConfig group = at(path);
  group.group = "no-such-group-anywhere";
  CHECK_THROWS_WITH(listen_at(group), Catch::Contains("control.group") && Catch::Contains("no-such-group-anywhere"));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("garbage, endless lines and deep nesting get an error each", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  ServerLimits limits;
  limits.request_bytes = 100'000;
  const Serving serving(path, echo, limits);
  CHECK_THAT(answer_to(path, "garbage\n"),
             Catch::Contains("the request is not valid JSON") && Catch::Contains("\"exit\":2"));
  CHECK_THAT(answer_to(path, "\xff\xfe\n"), Catch::Contains("the request is not valid JSON"));
  CHECK_THAT(answer_to(path, std::string("\0\0\n", 3)), Catch::Contains("the request is not valid JSON"));
  CHECK_THAT(answer_to(path, "\n"), Catch::Contains("the request is not valid JSON"));
  CHECK_THAT(answer_to(path, std::string(90'000, '[') + "\n"), Catch::Contains("more than 16 levels deep"));
  CHECK_THAT(answer_to(path, std::string(45'000, '[') + std::string(45'000, ']') + "\n"),
             Catch::Contains("more than 16 levels deep") && Catch::Contains("\"exit\":2"));
  CHECK_THAT(answer_to(path, std::string(16, '[') + std::string(16, ']') + "\n"), Catch::Contains("done"));
  CHECK_THAT(answer_to(path, std::string(1 << 20, 'x')), Catch::Contains("longer than 100000 bytes"));
  // In pieces, and with more bytes after the line.
  const Raw slow(path);
  for (const char c : std::string("{\"command\": \"slow\"}\nrest")) slow.say(std::string(1, c));
  CHECK_THAT(slow.hear(), Catch::Contains("slow"));
}

TEST_CASE("clients that say nothing lose their place to others, and after a while at all events", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  ServerLimits limits;
  limits.clients = 4;
  limits.request_patience = Milliseconds(300);
  const Serving serving(path, echo, limits);
  std::vector<std::unique_ptr<Raw>> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(std::make_unique<Raw>(path));
  CHECK(ask(path, {{"command", "x"}})["asked"]["command"] == "x");
  CHECK_THAT(silent.front()->hear(), Catch::Contains("waited longest"));
  CHECK_THAT(silent.back()->hear(), Catch::Contains("in time") || Catch::Contains("waited longest"));
}

TEST_CASE("a client that does not read ends its own command only", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  ServerLimits limits;
  limits.reply_patience = Milliseconds(200);
  std::atomic<bool> given_up{false};
  const Serving serving(
      path,
      [&](const Json& request, Reply& reply) {
        if (request["command"] != "flood") return echo(request, reply);
        try {
          for (;;) reply.line({{"much", std::string(10'000, 'x')}});
        } catch (const ClientGone&) {
          given_up = true;
          throw;
        }
      },
      limits);
  const Raw stuck(path);
  stuck.say("{\"command\": \"flood\"}\n");
  CHECK(ask(path, {{"command", "x"}})["asked"]["command"] == "x");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!given_up && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(Milliseconds(5));
  CHECK(given_up);
}

TEST_CASE("so many commands at once, and those under way end when the box does", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  ServerLimits limits;
  limits.commands = 2;
  std::atomic<int> waiting{0};
  Serving serving(
      path,
      [&](const Json& request, Reply& reply) {
        if (request["command"] != "wait") return echo(request, reply);
        ++waiting;
        while (reply.wanted()) std::this_thread::sleep_for(Milliseconds(1));
        --waiting;
        throw CommandError("not wanted any more");
      },
      limits);
  {
    const Raw gone(path);
    gone.say("{\"command\": \"wait\"}\n");
    while (waiting != 1) std::this_thread::yield();
  }
  while (waiting != 0) std::this_thread::yield();  // the command learns that nobody waits
  // A client is refused if it comes before the server has cleaned up the first one.
  std::vector<std::unique_ptr<Raw>> clients;
  while (waiting != 2) {
    clients.push_back(std::make_unique<Raw>(path));
    clients.back()->say("{\"command\": \"wait\"}\n");
    std::this_thread::sleep_for(Milliseconds(20));
  }
  CHECK_THROWS_WITH(ask(path, {{"command", "x"}}), Catch::Contains("2 commands are already running"));
  serving.server.stop();
  CHECK(waiting == 0);
  int ended = 0;
  for (const auto& client : clients) ended += client->hear().find("not wanted any more") != std::string::npos;
  CHECK(ended == 2);
}

TEST_CASE("what a handler throws is the last line, with the exit code that belongs to it", "[control]") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "box.sock";
  const Serving serving(path, [](const Json& request, Reply&) {
    if (request["command"] == "late") throw CommandError("too late", Exit::timed_out);
    throw std::runtime_error("broken");
  });
  try {
    ask(path, {{"command", "late"}});
    FAIL("no error");
  } catch (const CommandError& error) {
    CHECK(error.exit == Exit::timed_out);
    CHECK(std::string(error.what()) == "too late");
  }
  CHECK_THROWS_WITH(ask(path, {{"command", "x"}}), "broken");
}

TEST_CASE("arguments are of their type, in their range, and none is unknown", "[control]") {
  constexpr std::array<std::string_view, 2> kChoices = {"a", "b"};
  Arguments arguments({{"command", "c"}, {"text", "t"}, {"number", 7}, {"flag", true}, {"kind", "b"}});
  CHECK(arguments.command() == "c");
  CHECK(arguments.text("text") == "t");
  CHECK_FALSE(arguments.text("absent").has_value());
  CHECK(arguments.number("number", 0, 7) == 7);
  CHECK(arguments.choice("kind", kChoices) == "b");
  CHECK_THROWS_WITH(arguments.must_be_empty(), "c: unknown parameter \"flag\"");
  CHECK(arguments.flag("flag"));
  CHECK_NOTHROW(arguments.must_be_empty());
  const auto wrong = [](const Json& value) { return Arguments({{"command", "c"}, {"a", value}}); };
  CHECK_THROWS_WITH(wrong(8).number("a", 0, 7), "c: a: expected a whole number from 0 to 7, got 8");
  CHECK_THROWS_AS(wrong(-1).number("a", 0, 7), CommandError);
  CHECK_THROWS_AS(wrong(1.5).number("a", 0, 7), CommandError);
  CHECK_THROWS_AS(wrong("1").number("a", 0, 7), CommandError);
  CHECK_THROWS_WITH(wrong("z").choice("a", kChoices), "c: a: expected one of a, b, got \"z\"");
  CHECK_THROWS_AS(wrong(1).text("a"), CommandError);
  CHECK_THROWS_AS(wrong("true").flag("a"), CommandError);
  CHECK_THROWS_WITH(wrong(1).required_text("b"), "c: needs b");
  for (const Json& request : {Json(1), Json::array(), Json::object(), Json({{"command", 1}})})
    CHECK_THROWS_WITH(Arguments(request), Catch::Contains("\"command\""));
}
