// SPDX-License-Identifier: BSD-3-Clause
// The UDP source port against frames of a real stack: Soft-RoCE of Linux 6, set up over TCP and so without a flow
// label.
#include <pcap/pcap.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "wire/frame.hpp"
#include "wire/udp_source_port.hpp"

using namespace longhaul::wire;

TEST_CASE("the derived UDP source port is the one that a real stack takes", "[wire]") {
  char error[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> capture(
      pcap_open_offline(TEST_ROOT "/pcaps/write_bw_tcpexchange.pcap", error), pcap_close);
  INFO(error);
  REQUIRE(capture);
  // A frame names the QP that it goes to; the frames of the other way name the sender's.
  std::map<std::string, std::uint32_t> qpns;
  std::multimap<std::string, std::uint16_t> ports;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  while (pcap_next_ex(capture.get(), &header, &bytes) == 1) {
    Frame frame;
    if (parse({bytes, header->caplen}, frame) != ParseStatus::roce || frame.service() != Service::rc) continue;
    qpns[frame.destination.to_string()] = frame.destination_qpn();
    ports.emplace(frame.source.to_string(), frame.udp_source_port());
  }
  REQUIRE(qpns.size() == 2);
  CHECK(ports.size() == 80);
  for (const auto& [host, port] : ports)
    CHECK(port == derived_udp_source_port(qpns.begin()->second, qpns.rbegin()->second));
}

TEST_CASE("the derived port is the same at both ends, and a dynamic one", "[wire]") {
  for (std::uint32_t one = 2; one < 0xffffff; one = one * 3 + 1)
    for (std::uint32_t other = 17; other < 0xffffff; other = other * 5 + 2) {
      CHECK(derived_udp_source_port(one, other) == derived_udp_source_port(other, one));
      CHECK(derived_udp_source_port(one, other) >= 0xc000);
    }
}
