// SPDX-License-Identifier: BSD-3-Clause
// What another implementation (test/peer/vectors.py) made from docs/peer-protocol.md alone.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "peer/session.hpp"

using namespace longhaul;
using namespace longhaul::peer;
using Json = nlohmann::json;

namespace {

std::vector<std::uint8_t> bytes_in(const Json& text) {
  const auto hex = text.get<std::string>();
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}
Key key_in(const Json& text) {
  Key key{};
  std::ranges::copy(bytes_in(text), key.begin());
  return key;
}
Cookie cookie_in(const Json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

Json pairs() {
  std::ifstream file(TEST_ROOT "/peer/vectors.json");
  REQUIRE(file);
  return Json::parse(file).at("pairs");
}

Role role_of(const Json& message) { return message.at("from") == "initiator" ? Role::initiator : Role::responder; }

bool is_of_session(const Datagram& datagram) {
  return datagram.is(Type::confirm) || datagram.header().type >= kFirstSessionType;
}

}  // namespace

TEST_CASE("keys, cookies and tags are those of another implementation", "[peer]") {
  const Json all = pairs();
  REQUIRE(all.size() >= 3);
  for (const Json& pair : all) {
    CAPTURE(pair.at("name").get<std::string>());
    const Json& given = pair.at("given");
    const PreSharedKey shared(key_in(given.at("psk")));
    CHECK(shared.id() == cookie_in(pair.at("key_id")));
    CHECK(shared.hello() == key_in(pair.at("hello_key")));
    const Path path{wire::IpAddress::parse(given.at("initiator")), wire::IpAddress::parse(given.at("responder"))};
    const SessionKeys keys(shared, bytes_in(pair.at("init_body")), bytes_in(pair.at("response_body")), path);
    for (const Role role : {Role::initiator, Role::responder}) {
      const char* name = role == Role::initiator ? "initiator" : "responder";
      for (const auto& [worker, key] : pair.at("sending_keys").at(name).items())
        CHECK(keys.sending(role, static_cast<std::uint16_t>(std::stoul(worker))) == key_in(key));
      CHECK(keys.cookie_to(role) == cookie_in(pair.at("cookies").at(std::string("to_") + name)));
    }
    for (const auto& [name, message] : pair.at("messages").items()) {
      CAPTURE(name);
      const std::vector<std::uint8_t> bytes = bytes_in(message.at("datagram"));
      Datagram datagram;
      REQUIRE(datagram.take(bytes));
      const Json& header = message.at("header");
      CHECK(datagram.header().type == header.at("type").get<unsigned>());
      CHECK(datagram.header().sequence == header.at("sequence").get<std::uint32_t>());
      CHECK(datagram.header().cookie == cookie_in(header.at("cookie")));
      const Role from = role_of(message);
      const Key key = is_of_session(datagram) ? keys.sending(from, datagram.header().worker) : shared.hello();
      const Path way = from == Role::initiator ? path : path.reversed();
      CHECK(datagram.is_authentic(key, way));
      CHECK_FALSE(datagram.is_authentic(key, way.reversed()));
    }
  }
}

TEST_CASE("a session takes what another implementation has sent, once", "[peer]") {
  for (const Json& pair : pairs()) {
    CAPTURE(pair.at("name").get<std::string>());
    const Json& given = pair.at("given");
    const PreSharedKey shared(key_in(given.at("psk")));
    const Path path{wire::IpAddress::parse(given.at("initiator")), wire::IpAddress::parse(given.at("responder"))};
    const SessionKeys keys(shared, bytes_in(pair.at("init_body")), bytes_in(pair.at("response_body")), path);
    Agreed agreed;
    agreed.version = pair.at("session_version").get<std::uint8_t>();
    const auto initiators = given.at("initiator_workers").get<std::uint16_t>();
    const auto responders = given.at("responder_workers").get<std::uint16_t>();
    agreed.peer_workers = responders;
    Session initiator(keys, Role::initiator, initiators, agreed, path, 1);
    agreed.peer_workers = initiators;
    Session responder(keys, Role::responder, responders, agreed, path.reversed(), 1);
    unsigned taken = 0;
    for (const auto& [name, message] : pair.at("messages").items()) {
      CAPTURE(name);
      const std::vector<std::uint8_t> bytes = bytes_in(message.at("datagram"));
      Datagram datagram;
      REQUIRE(datagram.take(bytes));
      if (!is_of_session(datagram)) continue;
      Session& to = role_of(message) == Role::initiator ? responder : initiator;
      CHECK(to.cookie() == datagram.header().cookie);
      CHECK(to.open(datagram, 2) == Opened::accepted);
      CHECK(to.open(datagram, 3) == Opened::replayed);
      ++taken;
    }
    CHECK(taken >= 4);
  }
}
