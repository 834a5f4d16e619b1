// SPDX-License-Identifier: BSD-3-Clause
// The applications on both hosts: they connect, post their work, close when it is done or has failed, and come back.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sim/queue_pair.hpp"
#include "sim/scene.hpp"
#include "sim/topology.hpp"
#include "sim/work.hpp"

namespace longhaul::sim {

/// One generation of a connection: a QP at each host, what each posts, a flow in each direction.
struct Connection {
  unsigned number = 0;
  unsigned generation = 0;
  std::array<std::unique_ptr<Work>, 2> work;     ///< by posting host
  std::array<std::shared_ptr<QueuePair>, 2> qp;  ///< by host
  std::array<std::size_t, 2> flow{};             ///< the judge's flow numbers, by requester
  Time error_since = kNever;                     ///< since when one end is in error
  bool closing = false;
  std::array<bool, 2> closed{};  ///< closed by its application because of an error
  bool over = false;
  bool left = false;        ///< its hosts have ended it
  bool done = false;        ///< its work was done when the hosts ended it
  bool comes_back = false;  ///< the next generation is scheduled, or waits for the other connections
  Time began = 0;
  Time closing_at = kNever;  ///< its application began to close it
  Time over_at = kNever;

  bool open() const { return qp[0]->open() && qp[1]->open(); }
  /// Both requesters have ended.
  bool ended() const { return qp[0]->requester().ended() && qp[1]->requester().ended(); }
};

/// "A>B 3", the requester's host first.
std::string direction_name(unsigned requester_host, unsigned connection);
/// The same with the generation.
std::string flow_name(unsigned requester_host, unsigned connection, unsigned generation);

/// The near box has given up custody in a doubt and reported it: Judge::ended_unconfirmed().
bool ended_unconfirmed(const Scene& scene, std::size_t flow);

class Applications {
 public:
  /// Makes the first connections, and tells the forgers of them.
  Applications(Scene& scene, Topology& topology);
  Applications(const Applications&) = delete;
  Applications& operator=(const Applications&) = delete;

  /// The applications check their connections.
  void look();
  /// Nothing more will be posted.
  bool over() const;
  /// All connections wait for their next lives, or are over.
  bool waiting() const;
  /// When the newest generation of any connection began, or will begin.
  Time newest_life() const { return newest_life_; }

  /// The newest generation of each connection, by number.
  const std::vector<std::unique_ptr<Connection>>& newest() const { return newest_; }
  /// Every generation, the old ones first.
  std::vector<const Connection*> all() const;
  std::size_t lives() const { return old_.size() + newest_.size(); }

 private:
  void connect(unsigned number, unsigned generation, Time when);
  FlowPlan flow_plan(const Connection& connection, unsigned host, Time when) const;
  std::vector<Target> targets_of(unsigned host) const;
  void look_at(Connection& connection);
  void close_when_done(Connection& connection);
  void close_after_error(Connection& connection);
  void begin_next(Connection& connection);
  bool is_closed_by_cm(const Connection& connection) const;
  bool finished(const Connection& connection) const;
  static void leave(Connection& connection);
  void come_back(unsigned number);
  void appoint_next_life(unsigned number);

  Scene& scene_;
  Topology& topology_;
  Time newest_life_ = 0;
  std::vector<std::unique_ptr<Connection>> newest_;
  std::vector<std::unique_ptr<Connection>> old_;
};

}  // namespace longhaul::sim
