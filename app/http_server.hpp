// SPDX-License-Identifier: BSD-3-Clause
// A small HTTP server for pages that are made when asked for. Nothing can be changed through it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace longhaul::app {

struct Page {
  std::string type;                   ///< Content-Type
  std::function<std::string()> make;  ///< called in any of the server's threads, by several at once
};

/// GET and HEAD only, kThreads requests at once; who is slower than kTimeoutMs in sending a request or taking an
/// answer is cut off, so that others get their turn.
class HttpServer {
 public:
  static constexpr unsigned kThreads = 4;
  static constexpr unsigned kTimeoutMs = 2000;
  static constexpr unsigned kLargestRequest = 8192;  ///< bytes
  static constexpr unsigned kWaiting = 64;           ///< connections that may wait for their turn

  /// `listen`: "127.0.0.1:9464" or "[::1]:9464". `pages` by path. Throws std::runtime_error when the address cannot be
  /// had. Its threads run where the calling one does.
  HttpServer(const std::string& listen, std::map<std::string, Page> pages);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Civetweb;
  std::unique_ptr<Civetweb> server_;
};

}  // namespace longhaul::app
