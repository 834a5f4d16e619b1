// SPDX-License-Identifier: BSD-3-Clause
// The socket of a box. Each client sends one line of JSON and gets lines of JSON back, then the connection ends.
// Clients may be many, silent, slow or hostile: what they can take is bounded, and none delays another.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "app/protocol/reply.hpp"
#include "config/control_config.hpp"

namespace longhaul::app {

struct ServerLimits {
  std::size_t clients = 64;               ///< those whose line is not complete; one more replaces the oldest
  std::size_t commands = 8;               ///< under way at once; more are refused
  std::size_t request_bytes = 256 << 10;  ///< of a line
  std::chrono::milliseconds request_patience{10'000};  ///< for the whole line to come
  std::chrono::milliseconds reply_patience{5'000};     ///< for a client to read
};

/// Anyone who may write to the socket may use it: its mode and group decide.
class ControlServer {
 public:
  /// Carries out one request, in a thread of its own. It writes {"done": true, ...} itself. If it throws, the exception
  /// becomes the reply's last line.
  using Handler = std::function<void(const Json& request, Reply& reply)>;

  /// Makes the socket, and replaces one that a dead process has left. Throws config::ConfigError that names the key:
  /// another process listens there, something else is there, no such group, no permission.
  ControlServer(const config::ControlConfig& config, Handler handler, ServerLimits limits = {});
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Begins to serve. Its threads run on the caller's processors.
  void start();
  /// Tells commands under way that nobody wants them any more, and waits for them. Removes the socket.
  void stop();

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Waiting {
    int file;
    SteadyClock::time_point since;
    std::string said;
  };
  struct Running {
    int file = -1;
    std::thread thread;
    std::atomic<bool> done{false};
  };
  class Client;

  void serve();
  void accept_one();
  /// False if there is nothing more to read from the client.
  bool read_from(Waiting& client);
  void carry_out(Waiting& client, std::string request);
  void run(Running& running, const std::string& request);
  void reap(bool all);
  void drop(Waiting& client, const std::string& why);
  int next_timeout() const;

  config::ControlConfig config_;
  Handler handler_;
  ServerLimits limits_;
  int listener_ = -1;
  int wake_ = -1;  ///< eventfd: something has ended
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  bool full_ = false;  ///< the process has no file descriptor left for a client
  std::list<Waiting> waiting_;
  std::list<Running> running_;
};

}  // namespace longhaul::app
