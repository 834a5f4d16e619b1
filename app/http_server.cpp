// SPDX-License-Identifier: BSD-3-Clause
#include "app/http_server.hpp"

#include <civetweb.h>

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace longhaul::app {

struct HttpServer::Civetweb {
  std::map<std::string, Page> pages;
  std::mutex mutex;
  std::string said;  ///< civetweb's last complaint
  mg_context* context = nullptr;
};

namespace {

/// What a browser may do with a page of ours: run what is in it, ask us again, and nothing else.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:";

int answer(mg_connection* connection, int code, std::string_view reason, std::string_view type, std::string_view body,
           bool head) {
  const std::string start = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: {}\r\n{}Connection: close\r\n\r\n",
      code, reason, type, body.size(), kPolicy, code == 405 ? "Allow: GET, HEAD\r\n" : "");
  mg_write(connection, start.data(), start.size());
  if (!head) mg_write(connection, body.data(), body.size());
  return code;
}

int serve(mg_connection* connection, const std::map<std::string, Page>& pages) {
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  const mg_request_info& request = *mg_get_request_info(connection);
  const std::string_view method = request.request_method;
  const bool head = method == "HEAD";
  if (!head && method != "GET")
    return answer(connection, 405, "Method Not Allowed", kText, "GET and HEAD only\n", head);
  const auto found = pages.find(request.local_uri);
  if (found == pages.end()) {
    std::string known = "there is:";
    for (const auto& [path, page] : pages) known += " " + path;
    return answer(connection, 404, "Not Found", kText, known + "\n", head);
  }
  try {
    return answer(connection, 200, "OK", found->second.type, found->second.make(), head);
  } catch (const std::exception& error) {
    return answer(connection, 503, "Service Unavailable", kText, fmt::format("{}\n", error.what()), head);
  }
}

}  // namespace

HttpServer::HttpServer(const std::string& listen, std::map<std::string, Page> pages)
    : server_(std::make_unique<Civetweb>()) {
  server_->pages = std::move(pages);
  const std::string threads = std::to_string(kThreads);
  const std::string timeout = std::to_string(kTimeoutMs);
  const std::string largest = std::to_string(kLargestRequest);
  const std::string waiting = std::to_string(kWaiting);
  const char* const options[] = {"listening_ports",
                                 listen.c_str(),
                                 "num_threads",
                                 threads.c_str(),
                                 "request_timeout_ms",
                                 timeout.c_str(),
                                 "max_request_size",
                                 largest.c_str(),
                                 "connection_queue",
                                 waiting.c_str(),
                                 "listen_backlog",
                                 waiting.c_str(),
                                 "enable_keep_alive",
                                 "no",
                                 nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = [](mg_connection* connection) {
    return serve(connection, static_cast<Civetweb*>(mg_get_request_info(connection)->user_data)->pages);
  };
  // What hostile clients do is not worth a log line each.
  callbacks.log_message = [](const mg_connection* connection, const char* message) {
    auto* its = static_cast<Civetweb*>(mg_get_user_data(mg_get_context(connection)));
    if (its != nullptr) {
      const std::lock_guard lock(its->mutex);
      its->said = message;
    }
    return 1;
  };
  mg_init_library(MG_FEATURES_DEFAULT);
  server_->context = mg_start(&callbacks, server_.get(), const_cast<const char**>(options));
  if (server_->context == nullptr) {
    mg_exit_library();
    throw std::runtime_error(server_->said.empty() ? "cannot listen" : server_->said);
  }
}

HttpServer::~HttpServer() {
  mg_stop(server_->context);
  mg_exit_library();
}

}  // namespace longhaul::app
