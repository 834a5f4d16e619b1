// SPDX-License-Identifier: BSD-3-Clause
// The attacks that worlds know. A new attack is a new row at the end of the table in attack_table.cpp: cases name
// attacks by their row, so rows never move.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/attack_connection.hpp"
#include "sim/case.hpp"

namespace longhaul::sim {

class Attacker;

enum class AttackBy : std::uint8_t {
  neighbour,  ///< no attack at all: a well-behaved tenant, to test the judge
  tenant,
  forger
};

/// What an attack needs of its world.
enum Need : unsigned {
  kNothing = 0,
  kPace = 1,           ///< the long link has a rate, and the boxes pace by it
  kUnannounced = 2,    ///< the victim's connections are learned from their traffic
  kAnnounced = 4,      ///< they are announced by RDMA-CM
  kDrain = 8,          ///< an operator drains the boxes meanwhile
  kManyPlaces = 16,    ///< tables have some hundred places
  kFillsCustody = 32,  ///< enough steps to fill custody twice
  kFillsBuffers = 64,  ///< the same for buffers of all sizes
  kOverload = 128,     ///< with kPace: more than the link carries; otherwise half of it
  kBypass = 256,       ///< an operator bypasses the boxes meanwhile
  kWorkers = 512,      ///< the boxes have several workers
  kLoss = 1024         ///< the long link loses some frames
};

/// Connections that an attack has when its steps begin.
struct Opens {
  unsigned connections = 0;
  bool own_pairs = false;  ///< each is between other hosts
};

struct Attack {
  std::string_view name;
  AttackBy who;
  std::string_view what;    ///< it does, and what it wants
  std::string_view source;  ///< a standard, a paper, the code it aims at
  /// What it does at each step, from 0.
  void (*step)(Attacker& attacker, Number number);
  Manners manners{};  ///< of its connections
  Opens opens{};      ///< before its first step
  unsigned needs = kNothing;
  Number steps = 600;
  Number every_us = 20;
  Number bytes = 1024;
};

std::span<const Attack> attacks();
/// The attack of a case that has one. Throws std::invalid_argument when the table has no such row.
const Attack& attack_of(const Case& c);
/// The number of an attack in cases, from 1. Throws std::invalid_argument, which names all, when there is none.
Number attack_number(std::string_view name);

}  // namespace longhaul::sim
