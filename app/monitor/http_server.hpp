// SPDX-License-Identifier: BSD-3-Clause
// A small HTTP server for pages that are made on request. Nothing can be changed through it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace longhaul::app {

struct Page {
  std::string type;                   ///< Content-Type
  std::function<std::string()> make;  ///< called in any of the server's threads, also in several at once
};

/// Serves GET and HEAD only, one request per connection. A slow client takes no thread from others. It takes one of
/// kConnections, for kPatience at most.
class HttpServer {
 public:
  static constexpr unsigned kThreads = 4;
  static constexpr unsigned kConnections = 128;
  static constexpr std::size_t kConnectionBytes = 16384;  ///< memory for each: a larger request is refused
  static constexpr std::chrono::seconds kPatience{5};

  /// `listen` is for instance "127.0.0.1:9464" or "[::1]:9464". The keys of `pages` are paths. The server's threads run
  /// on the caller's processors. Throws std::runtime_error if it cannot listen at the address.
  HttpServer(const std::string& listen, std::map<std::string, Page> pages);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Ends connections that are older than kPatience, also those that still send a byte now and then. Call once a
  /// second.
  void cut_off_slow();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::app
