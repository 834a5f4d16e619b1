// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace longhaul::jobs {

namespace {

constexpr std::uint8_t kPort = 1;
constexpr std::uint8_t kForever = 7;    // of rnr_retry; as retry_cnt the most that there is
constexpr std::uint8_t kRnrTimer = 12;  // 0.64 ms
constexpr std::uint8_t kHops = 64;
constexpr std::uint8_t kWindowKey = 0x5a;
constexpr auto kInboxAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
// A device that was just made is there at once, its node under /dev and its GIDs a little later.
constexpr std::chrono::seconds kAppears{5};
constexpr std::chrono::milliseconds kLookAgain{5};

[[noreturn]] void fail_on(const std::string& device, const std::string& what, int error) {
  throw std::runtime_error(device + ": " + what + ": " + std::strerror(error));
}

/// The index of a RoCE v2 GID, if the device has it.
std::optional<std::uint8_t> gid_index(ibv_context* context, const Address& gid) {
  ibv_port_attr port{};
  if (ibv_query_port(context, kPort, &port) != 0) return {};
  for (int index = 0; index < std::min(port.gid_tbl_len, 256); ++index) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(context, kPort, static_cast<std::uint32_t>(index), &entry, 0) != 0) continue;
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && std::memcmp(entry.gid.raw, gid.data(), gid.size()) == 0)
      return static_cast<std::uint8_t>(index);
  }
  return {};
}

}  // namespace

void Unmap::operator()(std::uint8_t* memory) const { ::munmap(memory, size); }

Endpoint::Endpoint(const Needs& needs) : inbox_(needs.inbox), gid_(needs.gid), solicited_only_(needs.solicited_only) {
  const auto size = needs.inbox + needs.outbox;
  auto* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail_on("memory", "cannot map " + std::to_string(size) + " bytes", errno);
  memory_ = {static_cast<std::uint8_t*>(memory), Unmap{size}};
  const auto deadline = Clock::now() + kAppears;
  for (open(needs); !context_; open(needs)) {
    if (Clock::now() > deadline)
      throw std::runtime_error((needs.device.empty() ? "no RDMA device here" : needs.device) + ": no RoCE v2 GID " +
                               to_string(needs.gid) + " (see `ibv_devinfo -v`)");
    std::this_thread::sleep_for(kLookAgain);
  }
  pd_.reset(ibv_alloc_pd(context_.get()));
  if (!pd_) fail("cannot make a protection domain", errno);
  mr_.reset(ibv_reg_mr(pd_.get(), memory_.get(), size, kInboxAccess | IBV_ACCESS_MW_BIND));
  if (!mr_) mr_.reset(ibv_reg_mr(pd_.get(), memory_.get(), size, kInboxAccess));
  if (!mr_) fail("cannot register " + std::to_string(size) + " bytes (see `ulimit -l`)", errno);
  channel_.reset(ibv_create_comp_channel(context_.get()));
  if (!channel_) fail("cannot make a completion channel", errno);
  const auto completions = static_cast<int>(needs.sends + needs.receives);
  cq_.reset(ibv_create_cq(context_.get(), completions, nullptr, channel_.get(), 0));
  if (!cq_) fail("cannot make a completion queue of " + std::to_string(completions), errno);
  // Armed before anything can complete, so that wait() misses nothing.
  ibv_req_notify_cq(cq_.get(), solicited_only_);
  for (std::uint32_t made = 0; made <= needs.skip; ++made) {
    qp_.reset();  // first, so that no two exist at a time
    make_qp(needs);
  }
}

void Endpoint::open(const Needs& needs) {
  int count = 0;
  const std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> list(ibv_get_device_list(&count),
                                                                           &ibv_free_device_list);
  for (int n = 0; n < count; ++n) {
    auto* device = list.get()[n];
    if (!needs.device.empty() && needs.device != ibv_get_device_name(device)) continue;
    decltype(context_) context(ibv_open_device(device));
    if (!context) continue;
    const auto index = gid_index(context.get(), needs.gid);
    ibv_port_attr port{};
    if (!index || ibv_query_port(context.get(), kPort, &port) != 0 || port.state != IBV_PORT_ACTIVE) continue;
    gid_index_ = *index;
    mtu_ = port.active_mtu;
    context_ = std::move(context);
    return;
  }
}

void Endpoint::make_qp(const Needs& needs) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = needs.sends;
  init.cap.max_recv_wr = needs.receives;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  qp_.reset(ibv_create_qp(pd_.get(), &init));
  if (!qp_)
    fail("cannot make a QP of " + std::to_string(needs.sends) + " sends and " + std::to_string(needs.receives) +
             " receives",
         errno);
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = kPort;
  to.qp_access_flags = kInboxAccess;
  modify(to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

void Endpoint::fail(const std::string& what, int error) const {
  fail_on(ibv_get_device_name(context_->device), what, error);
}

// The memory window goes before the QP that it is bound to. Until then a QP that still answers would say "remote access
// error" to a peer that still writes, instead of nothing, as one whose end has left does.
Endpoint::~Endpoint() {
  if (qp_ == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(qp_.get(), &attributes, IBV_QP_STATE);
}

void Endpoint::modify(ibv_qp_attr attributes, int mask, const char* state) {
  const int error = ibv_modify_qp(qp_.get(), &attributes, mask);
  if (error != 0) fail("cannot take QP " + std::to_string(qp_->qp_num) + " to " + state, error);
}

Contact Endpoint::contact(std::uint32_t psn) const {
  Contact own;
  own.qpn = qp_->qp_num;
  own.psn = psn;
  own.mtu = mtu_;
  own.address = reinterpret_cast<std::uintptr_t>(memory_.get());
  own.gid = gid_;
  return own;
}

void Endpoint::connect(const Contact& own, const Contact& peer, std::uint8_t ack_timeout) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = static_cast<ibv_mtu>(std::min(own.mtu, peer.mtu));
  to.dest_qp_num = peer.qpn;
  to.rq_psn = peer.psn;
  to.max_dest_rd_atomic = 1;
  to.min_rnr_timer = kRnrTimer;
  to.ah_attr.is_global = 1;
  to.ah_attr.port_num = kPort;
  to.ah_attr.grh.sgid_index = gid_index_;
  to.ah_attr.grh.hop_limit = kHops;
  std::memcpy(to.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  modify(to,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER,
         "RTR");
  to = {};
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = own.psn;
  to.timeout = ack_timeout;
  to.retry_cnt = kForever;
  to.rnr_retry = kForever;
  to.max_rd_atomic = 1;
  modify(to,
         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

std::uint32_t Endpoint::expose(Deadline deadline) {
  window_.reset(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2));
  if (!window_) return mr_->rkey;
  ibv_send_wr bind{}, *bad = nullptr;
  bind.opcode = IBV_WR_BIND_MW;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_mw.mw = window_.get();
  bind.bind_mw.rkey = (window_->rkey & ~0xffu) | kWindowKey;
  bind.bind_mw.bind_info = {mr_.get(), reinterpret_cast<std::uintptr_t>(memory_.get()), inbox_,
                            IBV_ACCESS_REMOTE_WRITE};
  const int error = ibv_post_send(qp_.get(), &bind, &bad);
  if (error != 0) fail("cannot post the binding of a memory window", error);
  while (!poll()) {
    if (Clock::now() > deadline) fail("a memory window is not bound", ETIMEDOUT);
    std::this_thread::yield();
  }
  return bind.bind_mw.rkey;
}

void Endpoint::post_receive(std::span<std::uint8_t> into, std::uint64_t id) {
  ibv_sge where{reinterpret_cast<std::uintptr_t>(into.data()), static_cast<std::uint32_t>(into.size()), mr_->lkey};
  ibv_recv_wr receive{id, nullptr, &where, 1}, *bad = nullptr;
  const int error = ibv_post_recv(qp_.get(), &receive, &bad);
  if (error != 0) fail("cannot post receive " + std::to_string(id), error);
}

void Endpoint::post(std::span<const Request> requests) {
  std::vector<ibv_sge> pieces(requests.size());
  std::vector<ibv_send_wr> list(requests.size());
  for (std::size_t n = 0; n < requests.size(); ++n) {
    const auto& request = requests[n];
    pieces[n] = {reinterpret_cast<std::uintptr_t>(request.from.data()), static_cast<std::uint32_t>(request.from.size()),
                 mr_->lkey};
    auto& one = list[n];
    one = {};
    one.wr_id = request.id;
    one.next = n + 1 < requests.size() ? &list[n + 1] : nullptr;
    one.sg_list = &pieces[n];
    one.num_sge = 1;
    one.opcode = request.opcode;
    one.send_flags = IBV_SEND_SIGNALED | (request.solicited ? unsigned{IBV_SEND_SOLICITED} : 0);
    one.wr.rdma.remote_addr = request.to;
    one.wr.rdma.rkey = request.rkey;
  }
  ibv_send_wr* bad = nullptr;
  const int error = list.empty() ? 0 : ibv_post_send(qp_.get(), list.data(), &bad);
  if (error != 0) fail("cannot post request " + std::to_string(bad ? bad->wr_id : 0), error);
}

std::optional<ibv_wc> Endpoint::poll() {
  ibv_wc one{};
  const int got = ibv_poll_cq(cq_.get(), 1, &one);
  if (got < 0) fail("cannot poll the completion queue", EIO);
  if (got == 0) return {};
  if (one.status == IBV_WC_SUCCESS) return one;
  const auto what = "QP " + std::to_string(qp_->qp_num) + ", work request " + std::to_string(one.wr_id) + ": " +
                    ibv_wc_status_str(one.status);
  if (one.status == IBV_WC_REM_ACCESS_ERR) throw AccessRefused(what);
  throw std::runtime_error(what);
}

Wake Endpoint::wait(const Stream& peer, Deadline deadline) {
  pollfd both[] = {{channel_->fd, POLLIN, 0}, {peer.fd(), POLLIN | POLLRDHUP, 0}};
  for (;;) {
    if (::poll(both, 2, until(deadline)) < 0) {
      if (errno == EINTR) continue;
      fail("cannot wait for completions", errno);
    }
    if (both[0].revents != 0) {
      ibv_cq* cq = nullptr;
      void* ours = nullptr;
      if (ibv_get_cq_event(channel_.get(), &cq, &ours) != 0) fail("cannot take a completion event", errno);
      ibv_ack_cq_events(cq, 1);
      ibv_req_notify_cq(cq, solicited_only_);
      return Wake::completion;
    }
    if (both[1].revents != 0 && peer.closed()) return Wake::peer_closed;
    if (Clock::now() >= deadline) return Wake::late;
  }
}

}  // namespace longhaul::jobs
