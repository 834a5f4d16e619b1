// SPDX-License-Identifier: BSD-3-Clause
// One RC queue pair with its memory: what an application has of a connection that it makes without RDMA-CM.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "stream.hpp"

namespace longhaul::jobs {

/// What an end tells its peer over TCP.
struct Contact {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  ///< of the first request in both directions
  std::uint32_t mtu = 0;  ///< enum ibv_mtu
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;  ///< where the peer may write
  Address gid{};
};

/// What an endpoint is made for.
struct Needs {
  std::string device;          ///< empty: the one that has the GID
  Address gid{};               ///< our own
  std::uint64_t inbox = 0;     ///< bytes that the peer fills
  std::uint64_t outbox = 0;    ///< bytes that we send from
  std::uint32_t sends = 0;     ///< most of them under way
  std::uint32_t receives = 0;  ///< most of them posted
  std::uint32_t skip = 0;      ///< QPs made and destroyed before ours, so that it gets a later number
  bool solicited_only =
      false;  ///< wait() wakes for messages that ask for it, not for each: a wake costs several system calls
};

/// A request to send.
struct Request {
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::span<const std::uint8_t> from;  ///< in the outbox
  std::uint64_t to = 0;                ///< of a WRITE: the peer's address
  std::uint32_t rkey = 0;
  std::uint64_t id = 0;
  bool solicited = false;  ///< the peer is to wake for it
};

/// Why waiting ended.
enum class Wake { completion, peer_closed, late };

/// Gives mapped memory back.
struct Unmap {
  std::size_t size = 0;
  void operator()(std::uint8_t* memory) const;
};

/// The peer's memory is not, or no longer, open to this QP.
struct AccessRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Destroys what libibverbs made.
struct Destroy {
  void operator()(ibv_context* it) const { ibv_close_device(it); }
  void operator()(ibv_pd* it) const { ibv_dealloc_pd(it); }
  void operator()(ibv_mr* it) const { ibv_dereg_mr(it); }
  void operator()(ibv_comp_channel* it) const { ibv_destroy_comp_channel(it); }
  void operator()(ibv_cq* it) const { ibv_destroy_cq(it); }
  void operator()(ibv_qp* it) const { ibv_destroy_qp(it); }
  void operator()(ibv_mw* it) const { ibv_dealloc_mw(it); }
};

/// A QP and all that it needs. Throws std::runtime_error, which says what failed on which device.
class Endpoint {
 public:
  explicit Endpoint(const Needs& needs);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] std::span<std::uint8_t> inbox() const { return {memory_.get(), inbox_}; }
  [[nodiscard]] std::span<std::uint8_t> outbox() const {
    return {memory_.get() + inbox_, memory_.get_deleter().size - inbox_};
  }

  [[nodiscard]] Contact contact(std::uint32_t psn) const;

  /// To RTS. `ack_timeout` as in ibv_qp_attr: 4.096 µs times two to its power.
  void connect(const Contact& own, const Contact& peer, std::uint8_t ack_timeout);

  /// Lets the peer write into the inbox, by the same rkey in each life of a device that hands out the same indices:
  /// through a memory window, whose key is chosen here. The key of the whole region where there are no windows.
  std::uint32_t expose(Deadline deadline);

  void post_receive(std::span<std::uint8_t> into, std::uint64_t id);
  void post(std::span<const Request> requests);

  /// A completion, if there is one; one with an error throws.
  std::optional<ibv_wc> poll();

  /// Sleeps until there may be a completion, the peer has closed the TCP connection, or the deadline is over.
  Wake wait(const Stream& peer, Deadline deadline);

 private:
  void open(const Needs& needs);
  void make_qp(const Needs& needs);
  [[noreturn]] void fail(const std::string& what, int error) const;
  void modify(ibv_qp_attr attributes, int mask, const char* state);

  std::size_t inbox_ = 0;
  std::unique_ptr<std::uint8_t, Unmap> memory_;
  std::unique_ptr<ibv_context, Destroy> context_;
  std::unique_ptr<ibv_pd, Destroy> pd_;
  std::unique_ptr<ibv_mr, Destroy> mr_;
  std::unique_ptr<ibv_comp_channel, Destroy> channel_;
  std::unique_ptr<ibv_cq, Destroy> cq_;
  std::unique_ptr<ibv_qp, Destroy> qp_;
  std::unique_ptr<ibv_mw, Destroy> window_;
  Address gid_{};
  std::uint8_t gid_index_ = 0;
  ibv_mtu mtu_ = IBV_MTU_1024;
  bool solicited_only_ = false;
};

}  // namespace longhaul::jobs
