// SPDX-License-Identifier: BSD-3-Clause
#include "stream.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace longhaul::jobs {

namespace {

constexpr std::chrono::milliseconds kRetry{20};

[[noreturn]] void fail(const std::string& what, int error = errno) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

/// Waits for one event on a descriptor; false when the deadline came first.
bool wait(int fd, short events, Deadline deadline) {
  pollfd one{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&one, 1, until(deadline));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) fail("cannot poll a socket");
  }
}

/// The error of one attempt to connect, or 0.
int attempt(int fd, const addrinfo& to, Deadline deadline) {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

int until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000000));
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN];
  in6_addr raw;
  std::memcpy(&raw, address.data(), sizeof(raw));
  if (IN6_IS_ADDR_V4MAPPED(&raw))
    ::inet_ntop(AF_INET, address.data() + 12, text, sizeof(text));
  else
    ::inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  return text;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::release() { return std::exchange(fd_, -1); }

Stream Stream::connect(const std::string& server, std::uint16_t port, Deadline deadline) {
  const auto name = server + " port " + std::to_string(port);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int rc = ::getaddrinfo(server.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (rc != 0) throw std::runtime_error("no address of server " + server + ": " + ::gai_strerror(rc));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (;;) {
    Descriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.get() < 0) fail("cannot open a socket to " + name);
    const int error = attempt(fd.get(), *found, deadline);
    if (error == 0) {
      no_delay(fd.get());
      return Stream(std::move(fd), name);
    }
    if (Clock::now() + kRetry > deadline) fail("cannot connect to " + name, error);
    std::this_thread::sleep_for(kRetry);  // it may not listen yet
  }
}

void Stream::send_bytes(const void* data, std::size_t size) {
  // What is exchanged fits into any socket buffer, so this never blocks.
  if (::send(fd_.get(), data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
    fail("cannot send over TCP to " + peer_);
}

void Stream::receive_bytes(void* data, std::size_t size, Deadline deadline) {
  auto* out = static_cast<char*>(data);
  while (size > 0) {
    if (!wait(fd_.get(), POLLIN, deadline)) fail("no word over TCP from " + peer_, ETIMEDOUT);
    const auto got = ::recv(fd_.get(), out, size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) fail("cannot receive over TCP from " + peer_);
    if (got == 0) throw std::runtime_error(peer_ + " closed its TCP connection");
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

bool Stream::closed() const {
  char byte;
  const auto got = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

Address Stream::local() const {
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    fail("no local address towards " + peer_);
  Address address{};
  if (own.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &own, sizeof(v4));
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, &v4.sin_addr, 4);
  } else {
    sockaddr_in6 v6;
    std::memcpy(&v6, &own, sizeof(v6));
    std::memcpy(address.data(), &v6.sin6_addr, 16);
  }
  return address;
}

Listener::Listener(std::uint16_t port) : port_(port) {
  const auto where = "cannot listen at TCP port " + std::to_string(port);
  fd_ = Descriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd_.get() < 0) fail(where);
  const int on = 1, off = 0;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0) fail(where);
  if (::listen(fd_.get(), 8) != 0) fail(where);
}

Stream Listener::accept(Deadline deadline) {
  for (;;) {
    if (!wait(fd_.get(), POLLIN, deadline)) fail("no client came to TCP port " + std::to_string(port_), ETIMEDOUT);
    Descriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      fail("cannot accept a client");
    }
    no_delay(fd.get());
    return Stream(std::move(fd), "the client");
  }
}

}  // namespace longhaul::jobs
