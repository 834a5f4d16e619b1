// SPDX-License-Identifier: BSD-3-Clause
#include "app/protocol/socket.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::app {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw std::runtime_error(fmt::format("{}: the path is longer than 107 bytes, the most a socket can have", path));
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

int try_connect(int file, const std::string& path) {
  const sockaddr_un address = address_of(path);
  return connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}

File open_socket(int flags) {
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (file.get() < 0) throw std::runtime_error(fmt::format("cannot create a socket: {}", std::strerror(errno)));
  return file;
}

int connect_to(const std::string& path) {
  File file = open_socket(0);
  const int error = try_connect(file.get(), path);
  switch (error) {
    case 0:
      return file.release();
    case ENOENT:
      throw std::runtime_error(
          fmt::format("{}: no such socket: no box with this `control: {{socket: ...}}` is running", path));
    case ECONNREFUSED:
      throw std::runtime_error(fmt::format("{}: the box that listened there has ended", path));
    case EACCES:
      throw std::runtime_error(fmt::format(
          "{}: permission denied: run as root or as a member of the group in `control: {{group: ...}}`", path));
    default:
      throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(error)));
  }
}

}  // namespace longhaul::app
