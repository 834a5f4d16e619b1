// SPDX-License-Identifier: BSD-3-Clause
#include "wire/opcode.hpp"

#include <array>
#include <cstddef>

#include "wire/headers.hpp"

namespace longhaul::wire {
namespace {

using enum Service;
using enum Operation;
using enum Position;

/// One row; the arguments determine the rest.
consteval OpcodeInfo row(std::uint8_t code, std::string_view name, Service service, Operation operation,
                         Position position, int extended, bool payload) {
  OpcodeInfo info{};
  info.code = code;
  info.name = name;
  info.service = service;
  info.operation = operation;
  info.position = position;
  info.extended = static_cast<std::uint8_t>(extended);
  info.extended_size = extended_size_of(info.extended);
  info.payload = payload;
  info.ends_message_ = info.is_request() && (position == last || position == only);
  info.takes_receive_ = info.ends_message_ && (operation == send || (operation == write && info.has(kHasImmDt)));
  info.wants_response_ = operation == read_request || operation == atomic_request;
  return info;
}

// clang-format off
constexpr std::array kOpcodes = {
  row(0x00, "RC SEND First",                          rc, send,            first,  0, true),
  row(0x01, "RC SEND Middle",                         rc, send,            middle, 0, true),
  row(0x02, "RC SEND Last",                           rc, send,            last,   0, true),
  row(0x03, "RC SEND Last with Immediate",            rc, send,            last,   kHasImmDt, true),
  row(0x04, "RC SEND Only",                           rc, send,            only,   0, true),
  row(0x05, "RC SEND Only with Immediate",            rc, send,            only,   kHasImmDt, true),
  row(0x06, "RC RDMA WRITE First",                    rc, write,           first,  kHasReth, true),
  row(0x07, "RC RDMA WRITE Middle",                   rc, write,           middle, 0, true),
  row(0x08, "RC RDMA WRITE Last",                     rc, write,           last,   0, true),
  row(0x09, "RC RDMA WRITE Last with Immediate",      rc, write,           last,   kHasImmDt, true),
  row(0x0a, "RC RDMA WRITE Only",                     rc, write,           only,   kHasReth, true),
  row(0x0b, "RC RDMA WRITE Only with Immediate",      rc, write,           only,   kHasReth | kHasImmDt, true),
  row(0x0c, "RC RDMA READ Request",                   rc, read_request,    only,   kHasReth, false),
  row(0x0d, "RC RDMA READ response First",            rc, read_response,   first,  kHasAeth, true),
  row(0x0e, "RC RDMA READ response Middle",           rc, read_response,   middle, 0, true),
  row(0x0f, "RC RDMA READ response Last",             rc, read_response,   last,   kHasAeth, true),
  row(0x10, "RC RDMA READ response Only",             rc, read_response,   only,   kHasAeth, true),
  row(0x11, "RC Acknowledge",                         rc, acknowledge,     only,   kHasAeth, false),
  row(0x12, "RC ATOMIC Acknowledge",                  rc, atomic_response, only,   kHasAeth | kHasAtomicAckEth, false),
  row(0x13, "RC CmpSwap",                             rc, atomic_request,  only,   kHasAtomicEth, false),
  row(0x14, "RC FetchAdd",                            rc, atomic_request,  only,   kHasAtomicEth, false),
  row(0x16, "RC SEND Last with Invalidate",           rc, send,            last,   kHasIeth, true),
  row(0x17, "RC SEND Only with Invalidate",           rc, send,            only,   kHasIeth, true),
  row(0x20, "UC SEND First",                          uc, send,            first,  0, true),
  row(0x21, "UC SEND Middle",                         uc, send,            middle, 0, true),
  row(0x22, "UC SEND Last",                           uc, send,            last,   0, true),
  row(0x23, "UC SEND Last with Immediate",            uc, send,            last,   kHasImmDt, true),
  row(0x24, "UC SEND Only",                           uc, send,            only,   0, true),
  row(0x25, "UC SEND Only with Immediate",            uc, send,            only,   kHasImmDt, true),
  row(0x26, "UC RDMA WRITE First",                    uc, write,           first,  kHasReth, true),
  row(0x27, "UC RDMA WRITE Middle",                   uc, write,           middle, 0, true),
  row(0x28, "UC RDMA WRITE Last",                     uc, write,           last,   0, true),
  row(0x29, "UC RDMA WRITE Last with Immediate",      uc, write,           last,   kHasImmDt, true),
  row(0x2a, "UC RDMA WRITE Only",                     uc, write,           only,   kHasReth, true),
  row(0x2b, "UC RDMA WRITE Only with Immediate",      uc, write,           only,   kHasReth | kHasImmDt, true),
  row(0x64, "UD SEND Only",                           ud, send,            only,   kHasDeth, true),
  row(0x65, "UD SEND Only with Immediate",            ud, send,            only,   kHasDeth | kHasImmDt, true),
  // The 16 reserved bytes behind the BTH of a CNP count as its payload.
  row(0x81, "CNP",                                    cnp, congestion_notification, only, 0, true),
};
// clang-format on

/// Index into kOpcodes for each of the 256 codes.
constexpr std::uint8_t kUnknown = 0xff;
constexpr auto kIndex = [] {
  std::array<std::uint8_t, 256> index{};
  index.fill(kUnknown);
  for (std::size_t i = 0; i < kOpcodes.size(); ++i) index[kOpcodes[i].code] = static_cast<std::uint8_t>(i);
  return index;
}();

constexpr bool sorted_and_unique() {
  for (std::size_t i = 1; i < kOpcodes.size(); ++i)
    if (kOpcodes[i - 1].code >= kOpcodes[i].code) return false;
  return true;
}

/// Sizes from the header structs, to check extended_size_of()'s table.
constexpr bool sizes_agree_with_headers() {
  for (const OpcodeInfo& info : kOpcodes) {
    std::size_t size = 0;
    if (info.has(kHasDeth)) size += sizeof(Deth);
    if (info.has(kHasReth)) size += sizeof(Reth);
    if (info.has(kHasAtomicEth)) size += sizeof(AtomicEth);
    if (info.has(kHasAeth)) size += sizeof(Aeth);
    if (info.has(kHasAtomicAckEth)) size += sizeof(AtomicAckEth);
    if (info.has(kHasImmDt)) size += sizeof(ImmDt);
    if (info.has(kHasIeth)) size += sizeof(Ieth);
    if (size != info.extended_size) return false;
  }
  return true;
}

constexpr bool service_is_in_the_top_bits() {
  for (const OpcodeInfo& info : kOpcodes)
    if (static_cast<unsigned>(info.service) != info.code >> 5U) return false;
  return true;
}

/// UC 0x20..0x2b are RC 0x00..0x0b with other top bits.
constexpr bool uc_mirrors_rc() {
  for (std::size_t code = 0x00; code <= 0x0b; ++code) {
    const OpcodeInfo& reliable = kOpcodes[kIndex[code]];
    const OpcodeInfo& unreliable = kOpcodes[kIndex[code | 0x20]];
    if (reliable.operation != unreliable.operation || reliable.position != unreliable.position ||
        reliable.extended != unreliable.extended || reliable.payload != unreliable.payload ||
        reliable.name.substr(2) != unreliable.name.substr(2))
      return false;
  }
  return true;
}

/// Every RC answer has an AETH, except the middle of a READ response. A request that is answered by data carries no
/// payload.
constexpr bool answers_carry_aeth() {
  for (const OpcodeInfo& info : kOpcodes) {
    const bool middle_of_read = info.operation == read_response && info.position == middle;
    if (info.has(kHasAeth) != (info.is_response() && !middle_of_read)) return false;
    if (info.wants_response() && info.payload) return false;
  }
  return true;
}

static_assert(kOpcodes.size() < kUnknown);
static_assert(sorted_and_unique());
static_assert(sizes_agree_with_headers());
static_assert(service_is_in_the_top_bits());
static_assert(uc_mirrors_rc());
static_assert(answers_carry_aeth());
static_assert(kOpcodes[kIndex[kRcSendOnly]].name == "RC SEND Only" &&
              kOpcodes[kIndex[kRcWriteOnly]].operation == write &&
              kOpcodes[kIndex[kRcReadRequest]].operation == read_request &&
              kOpcodes[kIndex[kRcAcknowledge]].operation == acknowledge &&
              kOpcodes[kIndex[kRcCompareSwap]].name == "RC CmpSwap" && kOpcodes[kIndex[kCnp]].service == cnp);

}  // namespace

const std::array<UsualOpcode, 256> kUsualOpcodes = [] {
  std::array<UsualOpcode, 256> usual{};
  for (const OpcodeInfo& info : kOpcodes) {
    if (info.service != rc || (info.operation != send && info.operation != write && info.operation != acknowledge))
      continue;
    UsualOpcode& of = usual[info.code];
    of.extended_size = info.extended_size;
    of.is_usual = true;
    of.payload = info.payload;
    of.ends_message = info.ends_message();
    of.takes_receive = info.takes_receive();
  }
  return usual;
}();

const OpcodeInfo* find_opcode(std::uint8_t code) noexcept {
  const std::uint8_t index = kIndex[code];
  return index == kUnknown ? nullptr : &kOpcodes[index];
}

}  // namespace longhaul::wire
