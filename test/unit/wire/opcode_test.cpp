// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>

#include "wire/headers.hpp"
#include "wire/opcode.hpp"

using namespace longhaul::wire;

TEST_CASE("the table holds exactly the opcodes of RC, UC, UD and CNP", "[wire][opcode]") {
  std::set<int> expected{0x16, 0x17, 0x64, 0x65, 0x81};
  for (int code = 0x00; code <= 0x14; ++code) expected.insert(code);
  for (int code = 0x20; code <= 0x2b; ++code) expected.insert(code);
  for (int code = 0; code < 256; ++code) {
    const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(code));
    CAPTURE(code);
    REQUIRE((info != nullptr) == expected.contains(code));
    if (info != nullptr) CHECK(info->code == code);
  }
}

TEST_CASE("sizes of all headers behind the BTH, as IBTA table 38 gives them", "[wire][opcode]") {
  struct Expected {
    int code;
    int size;
    bool ends_message;
    bool response;
  };
  const auto expected =
      GENERATE(Expected{0x00, 0, false, false}, Expected{0x02, 0, true, false}, Expected{0x03, 4, true, false},
               Expected{0x04, 0, true, false}, Expected{0x06, 16, false, false}, Expected{0x07, 0, false, false},
               Expected{0x08, 0, true, false}, Expected{0x09, 4, true, false}, Expected{0x0a, 16, true, false},
               Expected{0x0b, 20, true, false}, Expected{0x0c, 16, true, false}, Expected{0x0d, 4, false, true},
               Expected{0x0e, 0, false, true}, Expected{0x0f, 4, false, true}, Expected{0x10, 4, false, true},
               Expected{0x11, 4, false, true}, Expected{0x12, 12, false, true}, Expected{0x13, 28, true, false},
               Expected{0x14, 28, true, false}, Expected{0x16, 4, true, false}, Expected{0x17, 4, true, false},
               Expected{0x64, 8, true, false}, Expected{0x65, 12, true, false}, Expected{0x81, 0, false, false});
  CAPTURE(expected.code);
  const OpcodeInfo* info = find_opcode(static_cast<std::uint8_t>(expected.code));
  REQUIRE(info != nullptr);
  CHECK(int{info->extended_size} == expected.size);
  CHECK(info->ends_message() == expected.ends_message);
  CHECK(info->is_response() == expected.response);
}

TEST_CASE("AETH syndromes", "[wire][opcode]") {
  CHECK(aeth_kind(0x1f) == AethKind::ack);
  CHECK(aeth_kind(0x2e) == AethKind::rnr_nak);
  CHECK(aeth_value(0x2e) == 14);
  CHECK(aeth_kind(0x60) == AethKind::nak);
  CHECK(aeth_kind(0x40) == AethKind::reserved);
  CHECK(aeth_kind(0x80) == AethKind::reserved);
  CHECK(nak_syndrome(NakCode::remote_access_error) == 0x62);
}
