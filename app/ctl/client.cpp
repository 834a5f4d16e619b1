// SPDX-License-Identifier: BSD-3-Clause
#include "app/ctl/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/protocol/socket.hpp"

namespace longhaul::app {
namespace {

// Long commands report progress twice a second. A walk over all connections takes no longer than this.
constexpr int kSilenceMs = 30'000;

class Connection {
 public:
  explicit Connection(const std::string& socket) : socket_(socket), file_(connect_to(socket)) {}
  ~Connection() { close(file_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// A failed send() is not an error: the box's reply explains the reason better.
  void say(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(file_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  Json next() {
    std::size_t end = 0;
    while ((end = heard_.find('\n', looked_)) == std::string::npos) {
      looked_ = heard_.size();
      more();
    }
    Json json = Json::parse(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(end));
    heard_.erase(0, end + 1);
    looked_ = 0;
    return json;
  }

 private:
  void more() {
    pollfd state{file_, POLLIN, 0};
    const int ready = poll(&state, 1, kSilenceMs);
    if (ready == 0) throw CommandError(fmt::format("{}: the box does not answer", socket_), Exit::timed_out);
    char bytes[65536];
    const ssize_t count = recv(file_, bytes, sizeof(bytes), 0);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) throw CommandError(fmt::format("{}: the box closed the connection", socket_));
    heard_.append(bytes, static_cast<std::size_t>(count));
  }

  std::string socket_;
  int file_;
  std::string heard_;
  std::size_t looked_ = 0;
};

}  // namespace

std::vector<std::string> sockets_in(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".sock" && entry->is_socket(error)) out.push_back(entry->path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string only_socket_in(const std::string& directory) {
  const std::vector<std::string> all = sockets_in(directory);
  std::vector<std::string> alive;
  std::string why;
  for (const std::string& path : all) {
    try {
      close(connect_to(path));
      alive.push_back(path);
    } catch (const std::runtime_error& error) {
      why += std::string("\n  ") + error.what();
    }
  }
  if (alive.size() == 1) return alive.front();
  if (alive.size() > 1)
    throw CommandError(
        fmt::format("several boxes are running; choose one with --socket or --name\n  {}", fmt::join(alive, "\n  ")),
        Exit::usage);
  throw CommandError(
      fmt::format("no box listens in {}. Is one running, and does its configuration have `control: {{socket: "
                  "{}/NAME.sock}}`? Name a socket elsewhere with --socket.{}",
                  directory, directory, why));
}

Json ask(const std::string& socket, const Json& request, const std::function<void(const Json&)>& line) {
  Connection connection(socket);
  connection.say(request.dump() + '\n');
  for (;;) {
    Json json = connection.next();
    if (json.contains("error")) {
      const int exit = json.value("exit", 1);
      throw CommandError(json["error"].get<std::string>(), static_cast<Exit>(std::clamp(exit, 1, 3)));
    }
    if (json.contains("done")) {
      json.erase("done");
      return json;
    }
    if (line) line(json);
  }
}

}  // namespace longhaul::app
