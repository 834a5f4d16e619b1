// SPDX-License-Identifier: BSD-3-Clause
// The TCP connection over which the two ends of a job tell each other their QPs.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>

namespace longhaul::jobs {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// An IPv6 address, or an IPv4 one mapped into it: what a RoCE v2 GID is made of.
using Address = std::array<std::uint8_t, 16>;

/// Milliseconds until a deadline, for poll(); 0 once it is over.
int until(Deadline deadline);

/// "10.9.0.1", "fd00::1".
std::string to_string(const Address& address);

/// A file descriptor and who closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int release();
  int fd_ = -1;
};

/// One connection. Every call throws std::runtime_error, which says what and with whom, when it fails or is late.
class Stream {
 public:
  explicit Stream(Descriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  /// Tries until the server answers or the deadline is over.
  static Stream connect(const std::string& server, std::uint16_t port, Deadline deadline);

  template <typename T>
  void send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof(value));
  }

  template <typename T>
  T receive(Deadline deadline) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof(value), deadline);
    return value;
  }

  /// True once the peer has closed its end. Must not be asked while the peer may send.
  [[nodiscard]] bool closed() const;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] Address local() const;  ///< our own address on it

 private:
  void send_bytes(const void* data, std::size_t size);
  void receive_bytes(void* data, std::size_t size, Deadline deadline);

  Descriptor fd_;
  std::string peer_;
};

/// Waits for clients at a port of every address.
class Listener {
 public:
  explicit Listener(std::uint16_t port);
  Stream accept(Deadline deadline);

 private:
  Descriptor fd_;
  std::uint16_t port_;
};

}  // namespace longhaul::jobs
