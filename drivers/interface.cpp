// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/interface.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace longhaul::drivers {
namespace {

class Request {
 public:
  explicit Request(const std::string& interface) : interface_(interface) {
    if (interface.size() >= sizeof request_.ifr_name)
      throw std::runtime_error(fmt::format("\"{}\" is too long for the name of a network interface", interface));
    std::memcpy(request_.ifr_name, interface.data(), interface.size());
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) throw std::runtime_error(fmt::format("socket: {}", std::strerror(errno)));
  }
  ~Request() { close(socket_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  ifreq& ask(unsigned long what) {
    if (ioctl(socket_, what, &request_) != 0)
      throw std::runtime_error(fmt::format("network interface \"{}\": {}", interface_, std::strerror(errno)));
    return request_;
  }

 private:
  std::string interface_;
  int socket_ = -1;
  ifreq request_{};
};

}  // namespace

std::vector<std::string> interface_names() {
  std::vector<std::string> out;
  struct if_nameindex* all = if_nameindex();
  if (all == nullptr) return out;
  for (const struct if_nameindex* one = all; one->if_index != 0; ++one) out.emplace_back(one->if_name);
  if_freenameindex(all);
  return out;
}

std::uint32_t interface_mtu(const std::string& interface) {
  return static_cast<std::uint32_t>(Request(interface).ask(SIOCGIFMTU).ifr_mtu);
}

bool interface_running(const std::string& interface) {
  constexpr int kWanted = IFF_UP | IFF_RUNNING;
  try {
    return (Request(interface).ask(SIOCGIFFLAGS).ifr_flags & kWanted) == kWanted;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void set_interface_up(const std::string& interface, bool up) {
  Request request(interface);
  short& flags = request.ask(SIOCGIFFLAGS).ifr_flags;
  flags = static_cast<short>(up ? flags | IFF_UP : flags & ~IFF_UP);
  request.ask(SIOCSIFFLAGS);
}

}  // namespace longhaul::drivers
