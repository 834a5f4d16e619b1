// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets by path: what both ends of a box's control socket need.
#pragma once

#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace longhaul::app {

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(File&& other) noexcept : file_(other.release()) {}
  File& operator=(File&&) = delete;
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

/// Throws std::runtime_error when the path is too long for a socket.
sockaddr_un address_of(const std::string& path);

/// `flags` are added to SOCK_CLOEXEC. Throws std::runtime_error.
File open_socket(int flags);

/// Returns 0 or errno.
int try_connect(int file, const std::string& path);

/// Throws std::runtime_error that says why nothing answers there.
int connect_to(const std::string& path);

}  // namespace longhaul::app
