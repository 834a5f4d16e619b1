// SPDX-License-Identifier: BSD-3-Clause
// One job between a server and a client: connect by QPNs told over TCP, send, compare, close.
#pragma once

#include <cstdint>
#include <string>

#include "endpoint.hpp"
#include "pattern.hpp"
#include "stream.hpp"

namespace longhaul::jobs {

enum class Kind : std::uint32_t {
  write,     ///< WRITEs, several at once, and a SEND that says that they are all
  send,      ///< SENDs in their place
  ping_pong  ///< SENDs one by one, each answered by one of the same size
};

/// How a job ends.
enum class Ending : std::uint32_t {
  together,       ///< the server compares, the client waits for what it found, both close
  unheard,        ///< the server is killed when the QPs are connected, before it can receive anything
  first_arrived,  ///< the server is killed when the first message has arrived
};

/// What the client asks for, over TCP.
struct Offer {
  static constexpr std::uint32_t kMagic = 0x6c686a31;
  std::uint32_t magic = kMagic;
  std::uint32_t no_more = 0;  ///< there was no job but the ones before
  Kind kind = Kind::write;
  Ending ending = Ending::together;
  Pattern pattern;
  Contact client;
  std::uint32_t seconds = 0;  ///< that the job may last
  std::uint8_t ack_timeout = 0;
};

/// What became of a job, at one of its ends.
struct Result {
  std::string verdict;          ///< "equal", "differs", "left", "hung" or "failed"
  std::string why;              ///< of the last two
  double seconds = 0;           ///< from both ends' being ready to the verdict
  double comparing = 0;         ///< seconds of those that went into comparing, while nothing was on the wire
  std::uint64_t bytes = 0;      ///< of all messages
  std::uint64_t completed = 0;  ///< requests that this end's QP completed
  Comparison comparison;
  std::uint32_t qpn = 0, peer_qpn = 0, rkey = 0;

  [[nodiscard]] bool good() const { return verdict == "equal" || verdict == "left"; }
};

/// What the client decides for itself.
struct ClientPlan {
  Offer offer;
  std::string device;
  std::uint32_t psn = 0;
  std::uint32_t depth = 0;  ///< most requests under way
  std::uint32_t skip = 0;   ///< see Needs
};

/// Throws std::runtime_error when it cannot begin; whatever comes later is in the Result.
Result run_client(const ClientPlan& plan, Stream& server);

/// The same for the server. Does not return from a job with another ending than `together`: it kills itself.
Result run_server(const Offer& offer, const std::string& device, Stream& client);

}  // namespace longhaul::jobs
