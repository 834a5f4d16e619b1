// SPDX-License-Identifier: BSD-3-Clause
// The builder against captured frames (byte for byte), and with tshark as the judge of what it built.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "support/captures.hpp"
#include "wire/builder.hpp"
#include "wire/icrc.hpp"

using namespace longhaul::wire;
using namespace longhaul::test;

namespace {

/// Sets everything that a builder can set from a captured frame. IP identification and ECN come from its raw bytes.
PacketBuilder builder_like(const Frame& frame) {
  const auto& ethernet = *reinterpret_cast<const EthernetHeader*>(frame.data);
  const std::uint8_t* ip = frame.data + frame.ip_offset;
  const auto& udp = *reinterpret_cast<const UdpHeader*>(frame.data + frame.udp_offset);
  const OpcodeInfo& opcode = *frame.opcode;
  PacketBuilder b;
  b.macs(ethernet.source, ethernet.destination).ips(frame.source, frame.destination);
  if (frame.ipv6) {
    const auto& header = *reinterpret_cast<const Ipv6Header*>(ip);
    b.tos(static_cast<std::uint8_t>(header.version_class_flow >> 20)).ttl(header.hop_limit);
    b.ipv6_flow_label(header.version_class_flow & 0xfffff);
  } else {
    const auto& header = *reinterpret_cast<const Ipv4Header*>(ip);
    b.tos(header.tos).ttl(header.ttl).ipv4_id(header.identification);
  }
  b.udp_source_port(udp.source_port).udp_checksum(udp.checksum);
  const Bth& bth = frame.bth();
  b.opcode(bth.opcode).p_key(bth.p_key).qpn(bth.destination_qpn).psn(bth.psn).ack_req(frame.ack_req());
  b.solicited((bth.flags & kBthSolicitedEvent) != 0).migreq((bth.flags & kBthMigReq) != 0);
  if (opcode.has(kHasReth)) b.reth(frame.reth().virtual_address, frame.reth().r_key, frame.reth().dma_length);
  if (opcode.has(kHasAeth)) b.aeth(frame.aeth().syndrome, frame.aeth().msn);
  if (opcode.has(kHasAtomicEth)) {
    const AtomicEth& atomic = frame.atomic_eth();
    b.atomic_eth(atomic.virtual_address, atomic.r_key, atomic.swap_or_add, atomic.compare);
  }
  if (opcode.has(kHasAtomicAckEth)) b.atomic_ack_eth(frame.atomic_ack_eth().original);
  if (opcode.has(kHasImmDt)) b.imm_dt(frame.imm_dt().data);
  if (opcode.has(kHasIeth)) b.ieth(frame.ieth().r_key);
  if (opcode.has(kHasDeth)) b.deth(frame.deth().q_key, frame.deth().source_qpn);
  return b.payload(frame.payload());
}

/// One frame of every opcode, all extended headers set, with a number in its PSN.
std::vector<Bytes> one_of_each() {
  std::vector<Bytes> frames;
  for (int code = 0; code < 256; ++code) {
    const auto* info = find_opcode(static_cast<std::uint8_t>(code));
    if (info == nullptr) continue;
    PacketBuilder b;
    b.opcode(info->code).qpn(0x23).psn(0x100U + static_cast<std::uint32_t>(code));
    if (info->has(kHasReth)) b.reth(0x1122334455667788, 0x99aabbcc, 13);
    if (info->has(kHasAeth)) b.aeth(0x1f, 77);
    if (info->has(kHasAtomicEth)) b.atomic_eth(0x1000, 5, 6, 7);
    if (info->has(kHasAtomicAckEth)) b.atomic_ack_eth(8);
    if (info->has(kHasImmDt)) b.imm_dt(0xdeadbeef);
    if (info->has(kHasIeth)) b.ieth(0xcafe);
    if (info->has(kHasDeth)) b.deth(0x11, 0x31);
    if (info->payload) b.payload_size(info->code == kCnp ? 16 : 13);
    frames.push_back(b.build());
    frames.push_back(b.ips("fd00::1", "fd00::2").vlan(7).build());
  }
  return frames;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof(part), pipe.get())) text.append(part, n);
  return text;
}

/// Writes `frames` to a capture file, and removes the file at the end.
class CaptureFile {
 public:
  explicit CaptureFile(const std::vector<Bytes>& frames) {
    char name[] = "/tmp/longhaul-unit-XXXXXX";
    const int descriptor = mkstemp(name);
    REQUIRE(descriptor >= 0);
    path_ = name;
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> ethernet(pcap_open_dead(DLT_EN10MB, 65535), pcap_close);
    const std::unique_ptr<pcap_dumper_t, void (*)(pcap_dumper_t*)> dump(
        pcap_dump_fopen(ethernet.get(), fdopen(descriptor, "wb")), pcap_dump_close);
    for (const Bytes& bytes : frames) {
      pcap_pkthdr header{};
      header.caplen = header.len = static_cast<bpf_u_int32>(bytes.size());
      pcap_dump(reinterpret_cast<u_char*>(dump.get()), &header, bytes.data());
    }
  }
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  ~CaptureFile() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("every captured frame can be rebuilt, byte for byte", "[wire][builder][captures]") {
  std::size_t rebuilt = 0;
  for (const auto& capture : capture_names()) {
    std::size_t number = 0;
    for (const Bytes& bytes : read_capture(capture)) {
      ++number;
      Frame frame;
      if (parse(bytes, frame) != ParseStatus::roce) continue;
      CAPTURE(capture, number, frame.opcode->name);
      REQUIRE(builder_like(frame).build() == bytes);
      ++rebuilt;
    }
  }
  CHECK(rebuilt > 3000);
}

TEST_CASE("tshark reads what the builder built and finds nothing malformed", "[wire][builder][tshark]") {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) {
    WARN("skipped: tshark is not installed");
    return;
  }
  const auto frames = one_of_each();
  const CaptureFile file(frames);
  const std::string tshark = "tshark -n -o ip.check_checksum:TRUE -r " + file.path() + " ";
  CHECK(output_of(tshark + "-Y '_ws.malformed || _ws.short || ip.checksum.status == 0' 2>/dev/null").empty());
  const std::string fields =
      output_of(tshark +
                "-T fields -E occurrence=f -e infiniband.bth.opcode -e infiniband.bth.psn -e infiniband.bth.destqp -e "
                "infiniband.bth.padcnt "
                "-e infiniband.reth.dmalen -e infiniband.aeth.msn -e infiniband.immdt 2>/dev/null");
  std::string expected;
  for (const Bytes& bytes : frames) {
    Frame frame;
    REQUIRE(parse(bytes, frame) == ParseStatus::roce);
    const OpcodeInfo& opcode = *frame.opcode;
    expected += std::to_string(opcode.code) + "\t" + std::to_string(0x100 + opcode.code) + "\t0x000023\t";
    expected += std::string(opcode.payload && opcode.code != kCnp ? "3" : "0") + "\t";
    expected += std::string(opcode.has(kHasReth) ? "13" : "") + "\t" + (opcode.has(kHasAeth) ? "77" : "") + "\t";
    expected += std::string(opcode.has(kHasImmDt) ? "deadbeef" : "") + "\n";
  }
  CHECK(fields == expected);
}

TEST_CASE("the builder refuses what does not fit together", "[wire][builder]") {
  CHECK_THROWS_AS(PacketBuilder().ips("10.0.0.1", "fd00::1").build(), std::invalid_argument);
  CHECK_THROWS_WITH(PacketBuilder().opcode(kRcSendOnly).aeth(0, 0).build(), Catch::Contains("RC SEND Only"));
  CHECK_THROWS_AS(PacketBuilder().opcode(kRcAcknowledge).payload_size(4).build(), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().opcode(0x15).aeth(0, 0).build(), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().payload_size(65536).build(), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().ipv4_options({1, 1, 1}).build(), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().ips("fd00::1", "fd00::2").ipv4_options({1, 1, 1, 0}).build(), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().qpn(0x1000000), std::invalid_argument);
  CHECK_THROWS_AS(PacketBuilder().psn(0x1000000), std::invalid_argument);
}

TEST_CASE("a frame of which nothing was set goes from the first of two hosts to the second", "[wire][builder]") {
  const Bytes frame = PacketBuilder().build();
  constexpr std::uint8_t kEct0 = 2;
  CHECK(frame[15] == kEct0);
  CHECK(frame[22] == 64);  // time to live
  CHECK(Bytes(frame.begin(), frame.begin() + 12) == Bytes{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1});
  CHECK(Bytes(frame.begin() + 26, frame.begin() + 34) == Bytes{10, 0, 0, 1, 10, 0, 0, 2});
}

TEST_CASE("unset extended headers are zero, and one builder makes many frames", "[wire][builder]") {
  PacketBuilder builder;
  builder.opcode(kRcWriteOnly).payload_size(8);
  const Bytes first = builder.psn(1).build();
  const Bytes second = builder.psn(2).build();
  CHECK(first.size() == second.size());
  CHECK(first != second);
  Frame frame;
  REQUIRE(parse(first, frame) == ParseStatus::roce);
  CHECK(frame.reth().virtual_address == 0);
  CHECK(frame.reth().dma_length == 0);
  CHECK(verify_icrc(frame));
}
