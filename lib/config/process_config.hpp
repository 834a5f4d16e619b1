// SPDX-License-Identifier: BSD-3-Clause
// What box and link processes have in common: two ports, memory, cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"

namespace longhaul::config {

/// Which device a port is; exactly one of the two is set.
struct PortConfig {
  std::string pci;       ///< "0000:01:00.0"
  std::string vdev;      ///< an EAL string: "net_af_packet0,iface=veth0,..."
  std::string devargs;   ///< of the driver of `pci`: "rx_low_latency=1,safe-mode-support=1"; empty: none
  std::string position;  ///< "FILE:LINE:COL: path" of the key that is set, for messages about the device itself

  const std::string& device() const { return pci.empty() ? vdev : pci; }
  /// With its devargs, as EAL takes it: "0000:01:00.0,rx_low_latency=1".
  std::string described() const { return devargs.empty() ? device() : device() + "," + devargs; }
};

/// Bytes of the largest IP packet that ports may be asked to carry (`mtu`): IPv4's minimum, and what fits the mbufs'
/// 16-bit sizes and every NIC we know.
inline constexpr std::uint32_t kLeastMtu = 68;
inline constexpr std::uint32_t kMostMtu = 9978;

inline constexpr unsigned kLastCore = 1023;
inline constexpr std::size_t kMostCores = 32;  ///< workers; each pair of them has two rings of frames
// Descriptors of a queue that may be asked for. All NICs we know have 64; mlx5 has up to 32768.
inline constexpr std::uint16_t kLeastDescriptors = 64;
inline constexpr std::uint16_t kMostDescriptors = 32768;

/// Names in the order of drivers::FlowControl.
inline constexpr std::string_view kFlowControlNames[] = {"off", "rx", "tx", "full"};

/// Sizes of the rings of one queue.
struct DescriptorConfig {
  std::uint16_t receive = 1024;
  std::uint16_t transmit = 1024;
  bool given = false;  ///< by the configuration

  /// In the queues of one worker at both ports.
  std::uint32_t of_worker() const { return 2u * (receive + transmit); }
};

inline constexpr std::string_view kIdleNames[] = {"poll", "sleep"};  ///< false and true

/// How the log is written to standard error.
enum class LogFormat : std::uint8_t {
  text,  ///< for people; in the journal with priorities
  json,  ///< an object a line
};
inline constexpr std::string_view kLogFormatNames[] = {"text", "json"};

struct ProcessConfig {
  bool hugepages = true;             ///< false: ordinary memory, for labs
  std::uint64_t memory_bytes = 0;    ///< for DPDK; 0: what the pools need
  std::optional<unsigned> core;      ///< processor that the (first) worker is pinned to
  std::vector<unsigned> more_cores;  ///< processors of the other workers, one each (`cores` without its first)
  bool sleep_when_idle = false;      ///< `idle: sleep`
  std::string telemetry_as;          ///< name under which DPDK's telemetry is served; empty: not served
  std::optional<std::uint32_t> mtu;  ///< bytes of the largest IP packet that both ports must carry
  DescriptorConfig descriptors;
  std::optional<std::size_t> flow_control;  ///< index of kFlowControlNames; not set: off where the device can
  LogFormat log_format = LogFormat::text;

  unsigned workers() const { return 1 + static_cast<unsigned>(more_cores.size()); }
};

/// Reads `{pci: ..., devargs: ...}` or `{vdev: ...}`.
PortConfig read_port(const Value& value);

/// Reads `ports`: two different devices under these two names. Throws ConfigError.
std::pair<PortConfig, PortConfig> read_ports(const Value& value, std::string_view first, std::string_view second);

/// Reads hugepages, memory, core, cores, idle, mtu, descriptors, flow_control and log from the top mapping.
ProcessConfig read_process(const Map& top);

}  // namespace longhaul::config
