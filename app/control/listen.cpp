// SPDX-License-Identifier: BSD-3-Clause
#include "app/control/listen.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "app/protocol/socket.hpp"
#include "config/config_error.hpp"

namespace longhaul::app {
namespace {

[[noreturn]] void fail(const config::ControlConfig& config, const std::string& what) {
  throw config::ConfigError(fmt::format("{}.socket: {}: {}", config.position, config.socket, what));
}

/// If two boxes start at once, only one may replace a dead box's socket. The lock holds until the file is closed.
int lock_directory(const config::ControlConfig& config) {
  const std::filesystem::path directory = std::filesystem::path(config.socket).parent_path();
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    fail(config, fmt::format("cannot create its directory: {}", std::strerror(errno)));
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail(config, fmt::format("cannot open its directory: {}", std::strerror(errno)));
  flock(file, LOCK_EX);
  return file;
}

/// Removes the socket of a dead process, or says why it cannot.
void remove_dead(const config::ControlConfig& config) {
  struct stat status {};
  if (lstat(config.socket.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    fail(config, std::strerror(errno));
  }
  if (!S_ISSOCK(status.st_mode)) fail(config, "exists and is not a socket: choose another path or remove the file");
  const File file = open_socket(SOCK_NONBLOCK);
  const int error = try_connect(file.get(), config.socket);
  if (error == 0 || error == EAGAIN)
    fail(config, "another process listens on it: give each box its own socket, or stop that process");
  if (error != ECONNREFUSED)
    fail(config, fmt::format("cannot find out whether it is in use: {}", std::strerror(error)));
  if (unlink(config.socket.c_str()) != 0)
    fail(config, fmt::format("was left by a process that has ended, and cannot be removed: {}", std::strerror(errno)));
}

gid_t group_of(const config::ControlConfig& config) {
  const group* found = getgrnam(config.group.c_str());
  if (found == nullptr)
    throw config::ConfigError(fmt::format("{}.group: there is no group \"{}\"; create it with addgroup --system {}",
                                          config.position, config.group, config.group));
  return found->gr_gid;
}

}  // namespace

int listen_at(const config::ControlConfig& config) {
  constexpr int kBacklog = 64;
  const File directory(lock_directory(config));
  remove_dead(config);
  File file = open_socket(SOCK_NONBLOCK);
  // bind() gives the file the mode of the socket. Nobody may connect before mode and group are set.
  fchmod(file.get(), 0600);
  const sockaddr_un address = address_of(config.socket);
  if (bind(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    fail(config, std::strerror(errno));
  try {
    if (!config.group.empty() && chown(config.socket.c_str(), static_cast<uid_t>(-1), group_of(config)) != 0)
      fail(config,
           fmt::format(
               "cannot be given to group {}: {}. The process must be a member of it (systemd: SupplementaryGroups={})",
               config.group, std::strerror(errno), config.group));
    if (chmod(config.socket.c_str(), static_cast<mode_t>(config.mode)) != 0) fail(config, std::strerror(errno));
    if (listen(file.get(), kBacklog) != 0) fail(config, std::strerror(errno));
  } catch (...) {
    unlink(config.socket.c_str());
    throw;
  }
  return file.release();
}

}  // namespace longhaul::app
