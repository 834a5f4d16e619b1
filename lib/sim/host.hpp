// SPDX-License-Identifier: BSD-3-Clause
// A host: its queue pairs behind one port. Its NIC drops damaged frames, and frames for no queue pair.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/listener.hpp"
#include "sim/queue_pair.hpp"

struct rte_mbuf;

namespace longhaul::sim {

class Host {
 public:
  /// `port`: what its queue pairs send through.
  Host(const wire::IpAddress& address, wire::VlanKey vlan, const Outlet& port, Listener listener)
      : address_(address), vlan_(vlan), port_(port), listener_(std::move(listener)) {}

  /// Replaces an older queue pair with the same QPN.
  void add(std::shared_ptr<QueuePair> queue_pair);

  /// Looks at the frame; the caller keeps ownership.
  void receive(const rte_mbuf* frame, Time now);
  Time next_deadline() const;
  void poll(Time now);

 private:
  void cm(const wire::CmMessage& message, Time now);

  wire::IpAddress address_;
  wire::VlanKey vlan_;
  const Outlet& port_;
  Listener listener_;
  std::vector<std::shared_ptr<QueuePair>> queue_pairs_;  ///< newest last; old ones still answer CM
  std::map<std::uint32_t, QueuePair*> by_qpn_;
  std::size_t turn_ = 0;  ///< the queue pair that comes first when several wait for the port
};

}  // namespace longhaul::sim
