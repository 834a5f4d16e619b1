// SPDX-License-Identifier: BSD-3-Clause
#include "app/monitor/http_server.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace longhaul::app {

struct HttpServer::Impl {
  using Clock = std::chrono::steady_clock;

  std::map<std::string, Page> pages;
  std::mutex mutex;
  std::map<int, Clock::time_point> open;  ///< connections and their start; an entry goes before its socket is closed
  MHD_Daemon* daemon = nullptr;
};

namespace {

/// What a browser may do with one of our pages: run what is in it, ask this server again, and nothing else.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:";
constexpr const char* kText = "text/plain; charset=utf-8";

/// A listening socket at "ADDRESS:PORT". The configuration has checked its form.
int listen_at(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const auto port = static_cast<in_port_t>(std::stoul(listen.substr(colon + 1)));
  sockaddr_storage address{};
  socklen_t size = 0;
  if (listen.front() == '[') {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    inet_pton(AF_INET6, listen.substr(1, colon - 2).c_str(), &ipv6.sin6_addr);
    size = sizeof(ipv6);
  } else {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    inet_pton(AF_INET, listen.substr(0, colon).c_str(), &ipv4.sin_addr);
    size = sizeof(ipv4);
  }
  const int socket_fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const bool bound =
      socket_fd >= 0 && setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      (address.ss_family == AF_INET || setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
      bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::listen(socket_fd, static_cast<int>(HttpServer::kConnections)) == 0;
  if (bound) return socket_fd;
  const std::string why = std::strerror(errno);
  if (socket_fd >= 0) close(socket_fd);
  throw std::runtime_error(fmt::format("cannot listen at {}: {}", listen, why));
}

MHD_Result answer(MHD_Connection* connection, unsigned code, const char* type, std::string body) {
  MHD_Response* response = MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Content-Security-Policy", kPolicy);
  MHD_add_response_header(response, "Connection", "close");
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
  const MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

MHD_Result serve(void* pages_pointer, MHD_Connection* connection, const char* url, const char* method, const char*,
                 const char*, std::size_t*, void**) {
  const auto& pages = *static_cast<const std::map<std::string, Page>*>(pages_pointer);
  try {
    if (method != std::string_view("GET") && method != std::string_view("HEAD"))
      return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, kText, "GET and HEAD only\n");
    const auto found = pages.find(url);
    if (found == pages.end()) {
      std::string known = "known pages:";
      for (const auto& [path, page] : pages) known += " " + path;
      return answer(connection, MHD_HTTP_NOT_FOUND, kText, known + "\n");
    }
    return answer(connection, MHD_HTTP_OK, found->second.type.c_str(), found->second.make());
  } catch (const std::exception& error) {
    return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, kText, fmt::format("{}\n", error.what()));
  }
}

}  // namespace

HttpServer::HttpServer(const std::string& listen, std::map<std::string, Page> pages) : impl_(std::make_unique<Impl>()) {
  impl_->pages = std::move(pages);
  const int socket_fd = listen_at(listen);
  const MHD_NotifyConnectionCallback notify = [](void* impl, MHD_Connection* connection, void**,
                                                 MHD_ConnectionNotificationCode what) {
    auto& its = *static_cast<Impl*>(impl);
    const int client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const std::lock_guard lock(its.mutex);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
      its.open[client] = Impl::Clock::now();
    else
      its.open.erase(client);
  };
  // Paths are compared as they came: none of ours needs an escape.
  const auto keep = +[](void*, MHD_Connection*, char* text) { return std::strlen(text); };
  // What hostile clients do is not worth log lines.
  const auto silent = +[](void*, const char*, va_list) {};
  impl_->daemon = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, serve, &impl_->pages,
      MHD_OPTION_EXTERNAL_LOGGER, silent, nullptr, MHD_OPTION_LISTEN_SOCKET, socket_fd, MHD_OPTION_THREAD_POOL_SIZE,
      kThreads, MHD_OPTION_CONNECTION_LIMIT, kConnections, MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(kPatience.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
      MHD_OPTION_NOTIFY_CONNECTION, notify, impl_.get(), MHD_OPTION_UNESCAPE_CALLBACK, keep, nullptr, MHD_OPTION_END);
  if (impl_->daemon == nullptr) {
    close(socket_fd);
    throw std::runtime_error(fmt::format("cannot start the HTTP server at {}: {}", listen, std::strerror(errno)));
  }
}

HttpServer::~HttpServer() { MHD_stop_daemon(impl_->daemon); }

void HttpServer::cut_off_slow() {
  const auto before = Impl::Clock::now() - kPatience;
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [client, since] : impl_->open)
    if (since < before) shutdown(client, SHUT_RDWR);
}

}  // namespace longhaul::app
