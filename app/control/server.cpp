// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/control/listen.hpp"

namespace longhaul::app {
namespace {

// Code that copies or compares values recurses as deep as they are nested, and a thread's stack is limited.
bool limit_nesting(int depth, Json::parse_event_t, Json&) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest)
    throw CommandError(fmt::format("the request nests values more than {} levels deep", kDeepest), Exit::usage);
  return true;
}

Json error_line(const std::string& what, Exit exit) {
  Json json;
  json["error"] = what;
  json["exit"] = static_cast<int>(exit);
  return json;
}

// A reply must be valid UTF-8, whatever bytes the request had.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

void wake(int event) {
  const std::uint64_t one = 1;
  if (write(event, &one, sizeof(one)) < 0) return;  // it is awake already
}

}  // namespace

/// The end of a connection while its command is carried out.
class ControlServer::Client final : public Reply {
 public:
  Client(int file, const std::atomic<bool>& stopping, std::chrono::milliseconds patience)
      : file_(file), stopping_(stopping), patience_(patience) {}

  void line(const Json& json) override {
    const std::string text = text_of(json);
    const auto until = SteadyClock::now() + patience_;
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(file_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) {
        sent += static_cast<std::size_t>(count);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) throw ClientGone(std::strerror(errno));
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now());
      pollfd ready{file_, POLLOUT, 0};
      if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0)
        throw ClientGone("the client does not read its answers");
    }
  }

  bool wanted() const override {
    if (stopping_.load(std::memory_order_relaxed)) return false;
    pollfd state{file_, 0, 0};
    return poll(&state, 1, 0) == 0 || (state.revents & (POLLHUP | POLLERR)) == 0;
  }

 private:
  int file_;
  const std::atomic<bool>& stopping_;
  std::chrono::milliseconds patience_;
};

ControlServer::ControlServer(const config::ControlConfig& config, Handler handler, ServerLimits limits)
    : config_(config), handler_(std::move(handler)), limits_(limits), listener_(listen_at(config)) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

ControlServer::~ControlServer() { stop(); }

void ControlServer::start() {
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "lh-control");
}

void ControlServer::stop() {
  if (listener_ < 0) return;
  stopping_.store(true, std::memory_order_relaxed);
  wake(wake_);
  if (thread_.joinable()) thread_.join();
  unlink(config_.socket.c_str());
  close(listener_);
  close(wake_);
  listener_ = wake_ = -1;
}

void ControlServer::serve() {
  std::vector<pollfd> files;
  while (!stopping_.load(std::memory_order_relaxed)) {
    files.assign({{full_ ? -1 : listener_, POLLIN, 0}, {wake_, POLLIN, 0}});
    for (const Waiting& client : waiting_) files.push_back({client.file, POLLIN, 0});
    poll(files.data(), files.size(), next_timeout());
    std::uint64_t count = 0;
    if ((files[1].revents & POLLIN) != 0 && read(wake_, &count, sizeof(count)) < 0) continue;
    full_ = false;
    reap(false);
    std::size_t i = 2;
    const auto now = SteadyClock::now();
    for (auto client = waiting_.begin(); client != waiting_.end();) {
      const bool speaks = files[i++].revents != 0;
      bool stays = true;
      if (speaks) stays = read_from(*client);
      if (stays && now - client->since > limits_.request_patience) {
        drop(*client, "no complete line arrived in time");
        stays = false;
      }
      client = stays ? std::next(client) : waiting_.erase(client);
    }
    if ((files[0].revents & POLLIN) != 0) accept_one();
  }
  for (Waiting& client : waiting_) drop(client, "the box is stopping");
  waiting_.clear();
  reap(true);
}

int ControlServer::next_timeout() const {
  constexpr int kFullPause = 100;
  if (full_) return kFullPause;
  if (waiting_.empty()) return -1;
  // They are in the order of arrival.
  const auto due = waiting_.front().since + limits_.request_patience - SteadyClock::now();
  return std::max(0, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(due).count()) + 1);
}

void ControlServer::accept_one() {
  const int file = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (file < 0) {
    full_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    return;
  }
  if (waiting_.size() >= limits_.clients) {
    drop(
        waiting_.front(),
        fmt::format("more than {} clients are connected without a request: the one that waited longest is disconnected",
                    limits_.clients));
    waiting_.pop_front();
  }
  waiting_.push_back({file, SteadyClock::now(), {}});
}

bool ControlServer::read_from(Waiting& client) {
  char bytes[16384];
  const ssize_t count = recv(client.file, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count <= 0) {
    close(client.file);
    return false;
  }
  const char* end = static_cast<const char*>(std::memchr(bytes, '\n', static_cast<std::size_t>(count)));
  client.said.append(bytes, end == nullptr ? static_cast<std::size_t>(count) : static_cast<std::size_t>(end - bytes));
  if (client.said.size() > limits_.request_bytes) {
    drop(client, fmt::format("the request is longer than {} bytes", limits_.request_bytes));
    return false;
  }
  if (end == nullptr) return true;
  carry_out(client, std::move(client.said));
  return false;
}

void ControlServer::carry_out(Waiting& client, std::string request) {
  reap(false);
  if (running_.size() >= limits_.commands) {
    drop(client, fmt::format("{} commands are already running: try again later", running_.size()));
    return;
  }
  Running& running = running_.emplace_back();
  running.file = client.file;
  try {
    running.thread = std::thread([this, &running, request = std::move(request)] { run(running, request); });
  } catch (const std::system_error& error) {
    running_.pop_back();
    drop(client, fmt::format("cannot start a thread: {}", error.what()));
  }
}

void ControlServer::run(Running& running, const std::string& request) {
  Client client(running.file, stopping_, limits_.reply_patience);
  Json last;
  try {
    try {
      handler_(Json::parse(request, limit_nesting), client);
    } catch (const Json::parse_error& error) {
      throw CommandError(fmt::format("the request is not valid JSON: {}", error.what()), Exit::usage);
    }
  } catch (const CommandError& error) {
    last = error_line(error.what(), error.exit);
  } catch (const ClientGone&) {
  } catch (const std::exception& error) {
    last = error_line(error.what(), Exit::failed);
  }
  try {
    if (!last.is_null()) client.line(last);
  } catch (const ClientGone&) {
  }
  shutdown(running.file, SHUT_RDWR);
  running.done.store(true, std::memory_order_release);
  wake(wake_);
}

void ControlServer::reap(bool all) {
  for (auto running = running_.begin(); running != running_.end();) {
    if (!all && !running->done.load(std::memory_order_acquire)) {
      ++running;
      continue;
    }
    running->thread.join();
    close(running->file);
    running = running_.erase(running);
  }
}

// The client may read nothing. What does not fit into the socket is lost.
void ControlServer::drop(Waiting& client, const std::string& why) {
  const std::string text = text_of(error_line(why, Exit::failed));
  static_cast<void>(send(client.file, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  close(client.file);
}

}  // namespace longhaul::app
