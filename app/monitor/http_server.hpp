// SPDX-License-Identifier: BSD-3-Clause
// A small HTTP server for pages that are made when asked for. Nothing can be changed through it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace longhaul::app {

struct Page {
  std::string type;                   ///< Content-Type
  std::function<std::string()> make;  ///< called in any of the server's threads, by several at once
};

/// GET and HEAD only, one request a connection. Slow clients take no thread from others, only one of kConnections, and
/// that for kPatience at most.
class HttpServer {
 public:
  static constexpr unsigned kThreads = 4;
  static constexpr unsigned kConnections = 128;
  static constexpr std::size_t kConnectionBytes = 16384;  ///< of memory each: a larger request is refused
  static constexpr std::chrono::seconds kPatience{5};

  /// `listen`: "127.0.0.1:9464" or "[::1]:9464". `pages` by path. Throws std::runtime_error when the address cannot be
  /// had. Its threads run where the calling one does.
  HttpServer(const std::string& listen, std::map<std::string, Page> pages);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Ends connections that are older than kPatience, also those that still send a byte now and then. Call every second.
  void cut_off_slow();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace longhaul::app
