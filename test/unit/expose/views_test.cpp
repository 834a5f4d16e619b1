// SPDX-License-Identifier: BSD-3-Clause
// What a box shows of itself: everything counted is shown, and nothing makes it grow without limit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "expose/counter_places.hpp"
#include "expose/families.hpp"
#include "expose/fold.hpp"
#include "expose/history.hpp"
#include "expose/status.hpp"
#include "expose/survey.hpp"

using namespace longhaul;
using namespace longhaul::expose;

namespace {

/// "name{label="value",...}" to value.
std::map<std::string, double> series(const Snapshot& snapshot) {
  std::map<std::string, double> out;
  std::istringstream lines(metrics_text(snapshot));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    CAPTURE(line);
    REQUIRE(out.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second);
  }
  return out;
}

engine::ConnectionState connection(std::uint64_t serial, std::uint32_t pair, std::uint64_t taken) {
  engine::ConnectionState out;
  out.serial = serial;
  const auto byte = [](std::uint32_t value) { return static_cast<std::uint8_t>(value & 0xff); };
  out.info.end(Side::host).ip = wire::IpAddress::from_ipv4({10, byte(pair >> 16), byte(pair >> 8), byte(pair)});
  out.info.end(Side::wan).ip = wire::IpAddress::from_ipv4({10, 200, 0, 1});
  out.phase = custody::Phase::confirmed;
  out.policy = flow::Policy::full;
  out.custody_bytes = 1000;
  out.unconfirmed_bytes = 100;
  out.taken_bytes = taken;
  return out;
}

void look(Survey& survey, Time now, const std::vector<engine::ConnectionState>& connections) {
  survey.begin(now);
  survey.add(connections);
  survey.finish();
}

std::uint64_t taken(const SurveyResult& result) {
  std::uint64_t sum = 0;
  for (const PairState& pair : result.pairs) sum += pair.taken_bytes;
  return sum;
}

}  // namespace

TEST_CASE("every counter has one place, under a name that Prometheus likes") {
  std::set<Counter> counters;
  std::set<std::pair<std::string_view, std::string_view>> places;
  std::vector<std::string_view> order;
  std::map<std::string_view, std::string_view> label_of;
  for (const CounterPlace& place : counter_places()) {
    CAPTURE(place.family, place.value);
    CHECK(counters.insert(place.counter).second);
    CHECK(places.emplace(place.family, place.value).second);
    CHECK(place.family.starts_with("longhaul_"));
    CHECK(place.family.ends_with("_total"));
    CHECK(place.family.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(place.family.find("__") == std::string_view::npos);
    CHECK(place.label.empty() == place.value.empty());
    CHECK(place.label.empty() == family_help(place.family).empty());
    CHECK(label_of.emplace(place.family, place.label).first->second == place.label);
    if (order.empty() || order.back() != place.family) order.push_back(place.family);
  }
  CHECK(counters.size() == metrics::kCounterCount);
  // The series of a family follow each other.
  CHECK(std::set(order.begin(), order.end()).size() == order.size());
}

TEST_CASE("each counter and each result of parsing is shown with its value") {
  Snapshot snapshot;
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i) snapshot.total.counters.events[i] = 1000000 + i;
  snapshot.total.counters[Counter::connections_learned] = 50;
  snapshot.total.counters[Counter::connections_from_traffic] = 20;
  snapshot.total.counters[Counter::flows_failed] = 4000;
  snapshot.total.counters[Counter::failed_bytes] = 5000;
  snapshot.total.counters[Counter::flows_failed_silent] = 20;
  snapshot.total.counters[Counter::failed_silent_bytes] = 30;
  snapshot.total.counters[Counter::read_stall_ns] = 2'500'000'000;
  snapshot.total.counters[Counter::paused_ns] = 3'500'000'000;
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) snapshot.total.counters.parsed[i] = 7000 + i;
  const auto shown = series(snapshot);
  const auto counted = [&](Counter counter) { return static_cast<double>(snapshot.total.counters[counter]); };
  CHECK(shown.at("longhaul_received_frames_total{port=\"wan\"}") == counted(Counter::frames_wan));
  CHECK(shown.at("longhaul_absorbed_frames_total{reason=\"rnr_nak\"}") == counted(Counter::absorbed_rnr_naks));
  CHECK(shown.at("longhaul_connections_learned_total{source=\"cm\"}") == 30);
  CHECK(shown.at("longhaul_connections_learned_total{source=\"traffic\"}") == 20);
  CHECK(shown.at("longhaul_flows_failed_total{cause=\"undelivered\"}") ==
        counted(Counter::flows_failed) - counted(Counter::flows_failed_silent));
  CHECK(shown.at("longhaul_lost_bytes_total{cause=\"undelivered\"}") ==
        counted(Counter::failed_bytes) - counted(Counter::failed_silent_bytes));
  CHECK(shown.at("longhaul_read_stall_seconds_total") == 2.5);
  CHECK(shown.at("longhaul_paused_seconds_total") == 3.5);
  CHECK(shown.at("longhaul_parsed_frames_total{result=\"roce\"}") == 7000);
  std::set<double> values;
  for (const auto& [name, value] : shown) values.insert(value);
  for (std::size_t i = 0; i < metrics::kCounterCount; ++i) {
    CAPTURE(metrics::kCounterInfo[i].name);
    const auto counter = static_cast<Counter>(i);
    if (counter != Counter::connections_learned && counter != Counter::flows_failed &&
        counter != Counter::failed_bytes && counter != Counter::read_stall_ns && counter != Counter::paused_ns)
      CHECK(values.count(static_cast<double>(snapshot.total.counters.events[i])) == 1);
  }
  for (std::size_t i = 0; i < wire::kParseStatusCount; ++i) CHECK(values.count(7000 + static_cast<double>(i)) == 1);
}

TEST_CASE("a folded histogram counts exactly what is at most its edges") {
  metrics::Histogram histogram;
  std::vector<std::uint64_t> values;
  std::uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    values.push_back((random >> 20) >> (random % 40));
  }
  for (const std::uint64_t value : values) histogram.record(value, 2);
  for (const Edges edges : {kDelayEdges, kRoundTripEdges}) {
    const auto folded = fold(histogram, edges);
    CHECK(folded.sample_count == 2 * values.size());
    CHECK(folded.bucket.size() == (edges.last - edges.first) * edges.per_power + 1);
    for (const auto& bucket : folded.bucket) {
      const auto within = std::count_if(values.begin(), values.end(), [&](std::uint64_t value) {
        return static_cast<double>(value) / 1e9 <= bucket.upper_bound;
      });
      CHECK(bucket.cumulative_count == 2 * static_cast<std::uint64_t>(within));
    }
  }
}

TEST_CASE("10,000 host pairs: as many series as the limit allows, and nothing is lost from the sums") {
  constexpr std::uint32_t kPairs = 10000;
  const std::size_t limit = GENERATE(0, 1, 100);
  CAPTURE(limit);
  Survey survey(limit);
  std::vector<engine::ConnectionState> connections;
  for (std::uint32_t i = 0; i < kPairs; ++i) connections.push_back(connection(i + 1, i, i));
  look(survey, seconds(1), connections);
  for (auto& each : connections) {
    each.taken_bytes += 500;
    each.plain[static_cast<std::size_t>(PlainCause::custody_box)] += 3;
  }
  look(survey, seconds(2), connections);

  Snapshot snapshot;
  snapshot.survey = survey.result();
  const SurveyResult& result = snapshot.survey;
  CHECK(result.pairs_seen == kPairs);
  CHECK(result.unconfirmed_bytes == 100ull * kPairs);
  CHECK(result.pairs.size() == (limit == 0 ? 0 : limit + 1));
  CHECK(result.busiest.size() == Survey::kBusiest);
  CHECK(result.busiest[0].bytes_per_second == Approx(500));
  if (limit > 0) {
    CHECK(result.pairs.back().host == "other");
    CHECK(result.pairs.back().sums.connections == kPairs - limit);
    CHECK(taken(result) == kPairs * (kPairs - 1ull) / 2 + 500ull * kPairs);
  }
  const auto shown = series(snapshot);
  const auto of_pairs = std::count_if(shown.begin(), shown.end(),
                                      [](const auto& entry) { return entry.first.starts_with("longhaul_pair_"); });
  CHECK(static_cast<std::size_t>(of_pairs) == 8 * result.pairs.size());
  CHECK(shown.size() < 460 + 8 * (limit + 1));
  CHECK(shown.at("longhaul_not_accelerated_requests_total{reason=\"custody_box\"}") == 3 * kPairs);
}

TEST_CASE("what was not accelerated: counts of connections and samples of a pair make one whole") {
  Survey survey(1);
  const auto at = [](PlainCause cause) { return static_cast<std::size_t>(cause); };
  engine::ConnectionState one = connection(1, 7, 0);
  engine::BusyPair busy;
  busy.hosts = {one.info.end(Side::host).ip, one.info.end(Side::wan).ip, {}, 0};
  busy.ticks = 1;
  busy.asked = {5, 60, 0, 20};
  for (const Time now : {seconds(1), seconds(3)}) {
    survey.begin(now);
    survey.add(std::vector{one});
    survey.add(std::vector{busy}, 1e9);
    survey.finish();
    one.plain[at(PlainCause::gap)] += 15;
    one.plain[at(PlainCause::policy)] += 5;
  }
  const Asked& lately = survey.result().busiest.at(0).asked_lately;
  CHECK(lately.all() == 100);
  CHECK(lately.share_of(PlainCause::gap) == Approx(0.15));
  CHECK(lately.share_of(PlainCause::unknown) == Approx(0.2));
  CHECK(lately.share_of(PlainCause::draining) == 0);
  CHECK(survey.result().asked.all() == 180);
  const Json shown = pairs_json(survey.result());
  CHECK(shown["ack_requests_per_second"] == 50);
  const Json& causes = shown["pairs"][0]["not_accelerated"];
  REQUIRE(causes.size() == 3);
  CHECK(causes[0]["cause"] == "unknown");
  CHECK(causes[1]["cause"] == "gap");
  CHECK(causes[1]["per_second"] == 7.5);
  CHECK(causes[2]["share"] == 0.05);
}

TEST_CASE("a pair's bytes add up over connections that come and go, and over surveys that were cut short") {
  Survey survey(1);
  look(survey, seconds(1), {connection(1, 7, 1000)});
  look(survey, seconds(2), {connection(1, 7, 1500), connection(2, 7, 200)});
  CHECK(survey.result().pairs[0].taken_bytes == 1700);
  // One worker answered, the other did not.
  survey.begin(seconds(3));
  survey.add(std::vector{connection(2, 7, 300)});
  CHECK(survey.result().pairs[0].taken_bytes == 1700);
  look(survey, seconds(4), {connection(2, 7, 350)});
  CHECK(survey.result().pairs[0].taken_bytes == 1850);
  CHECK(survey.result().pairs[0].sums.connections == 1);
  CHECK(survey.result().pairs[0].bytes_per_second == Approx(75));

  // The pair keeps its series for a while. Another pair has to wait for the place.
  look(survey, seconds(5), {connection(3, 8, 40)});
  CHECK(survey.result().pairs[0].host == "10.0.0.7");
  CHECK(survey.result().pairs[0].sums.connections == 0);
  CHECK(survey.result().pairs[1].taken_bytes == 40);
  look(survey, seconds(5) + Survey::kRemembered, {connection(3, 8, 60)});
  CHECK(survey.result().pairs[0].host == "10.0.0.8");
  CHECK(survey.result().pairs[0].taken_bytes == 20);
  CHECK(survey.result().pairs[1].taken_bytes == 40);
}

TEST_CASE("the busiest pairs are those with most of the time, of custody, or of what is refused") {
  Survey survey(2);
  // The first pair has custody, the second is refused, and the third only costs time: nothing is known of it.
  std::vector<engine::ConnectionState> connections;
  for (std::uint32_t pair = 1; pair <= 20; ++pair) connections.push_back(connection(pair, pair, 0));
  connections[6].custody_bytes = 50'000;
  const engine::BusyPair forger{
      {wire::IpAddress::from_ipv4({10, 66, 0, 1}), wire::IpAddress::from_ipv4({10, 66, 0, 2}), {}, 0}, 300'000'000};
  look(survey, seconds(1), connections);
  connections[11].refused_requests = 5;
  survey.begin(seconds(2));
  survey.add(connections);
  survey.add(std::vector{forger}, 1e9);
  survey.finish();

  const std::vector<PairState>& busiest = survey.result().busiest;
  REQUIRE(busiest.size() == Survey::kBusiest);
  std::map<std::string, PairState> first;
  for (std::size_t i = 0; i < 3; ++i) first[busiest[i].host] = busiest[i];
  REQUIRE(first.size() == 3);
  CHECK(first["10.0.0.7"].sums.custody_bytes == 50'000);
  CHECK(first["10.0.0.12"].refused_per_second == Approx(5));
  CHECK(first["10.66.0.1"].processors == Approx(0.3));
  CHECK(first["10.66.0.1"].sums.connections == 0);
  CHECK(survey.result().pairs_seen == 20);

  // It has no series, and is forgotten when it is silent.
  for (const PairState& pair : survey.result().pairs) CHECK(pair.host != "10.66.0.1");
  look(survey, seconds(3), connections);
  for (const PairState& pair : survey.result().busiest) CHECK(pair.host != "10.66.0.1");
}

TEST_CASE("connections are told apart by state, what announced them, policy and VLAN") {
  Survey survey(10);
  std::vector<engine::ConnectionState> connections(3, connection(1, 1, 0));
  for (std::size_t i = 0; i < connections.size(); ++i) connections[i].serial = i + 1;
  connections[1].from_traffic = true;
  connections[1].info.vlan.value = 1u << 24 | 100u << 12;
  connections[1].oldest = seconds(3);
  connections[2].phase = custody::Phase::failed;
  connections[2].lost_bytes = 77;
  connections[2].trusted = false;
  connections[2].closing = true;
  connections[2].info.vlan.value = 2u << 24 | 100u << 12 | 200u;
  look(survey, seconds(1), connections);
  Snapshot snapshot;
  snapshot.survey = survey.result();
  const auto shown = series(snapshot);
  CHECK(shown.at("longhaul_connections{state=\"confirmed\",source=\"cm\",policy=\"full\"}") == 1);
  CHECK(shown.at("longhaul_connections{state=\"confirmed\",source=\"traffic\",policy=\"full\"}") == 1);
  CHECK(shown.at("longhaul_connections{state=\"failed\",source=\"cm\",policy=\"full\"}") == 1);
  CHECK(shown.at("longhaul_connections_closing") == 1);
  CHECK(shown.at("longhaul_connections_untrusted") == 1);
  CHECK(shown.at("longhaul_custody_oldest_seconds") == 3);
  CHECK(shown.at("longhaul_pair_connections{host=\"10.0.0.1\",remote=\"10.200.0.1\"}") == 1);
  CHECK(shown.at("longhaul_pair_connections{host=\"10.0.0.1\",remote=\"10.200.0.1\",vlan=\"100\"}") == 1);
  CHECK(shown.at("longhaul_pair_connections{host=\"10.0.0.1\",remote=\"10.200.0.1\",vlan=\"100.200\"}") == 1);
  CHECK(survey.result().failed_bytes == 77);
}

TEST_CASE("a name with quotes and line breaks does not break the text") {
  Snapshot snapshot;
  snapshot.identity.name = "a \"box\"\nlonghaul_bypass 7 \\";
  const std::string text = metrics_text(snapshot);
  CHECK(text.find("name=\"a \\\"box\\\"\\nlonghaul_bypass 7 \\\\\"") != std::string::npos);
  CHECK(text.find("\nlonghaul_bypass 7") == std::string::npos);
}

TEST_CASE("the history has rates of each interval, as many as it keeps, and says when nothing was measured") {
  History history(3);
  Snapshot snapshot;
  snapshot.workers.resize(2);
  for (int i = 0; i < 6; ++i) {
    snapshot.time = 1000 + i;
    snapshot.ports[Side::host].stats.ibytes += 125;
    snapshot.total.counters[Counter::pseudo_acks] += 10;
    snapshot.workers[1].report.activity.ran += seconds(2);
    snapshot.workers[1].report.activity.busy += seconds(1);
    snapshot.total.custody_bytes = static_cast<std::uint64_t>(i);
    if (i == 4) snapshot.total.wan_rtt.record(milliseconds(10), 100);
    history.add(snapshot, seconds(100 + 2 * static_cast<std::uint64_t>(i)));
  }
  REQUIRE(history.samples().size() == 3);
  const auto json = nlohmann::json::parse(status_page_json(snapshot, history));
  const auto& columns = json.at("history");
  CHECK(columns.at("time") == std::vector<double>{1003, 1004, 1005});
  CHECK(columns.at("host_receive_bits") == std::vector<double>{500, 500, 500});
  CHECK(columns.at("pseudo_acks") == std::vector<double>{5, 5, 5});
  CHECK(columns.at("busy") == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(columns.at("custody_bytes") == std::vector<double>{3, 4, 5});
  CHECK(columns.at("round_trip_p50")[0].is_null());
  CHECK(columns.at("round_trip_p50")[1].get<double>() == Approx(0.01).epsilon(0.07));
  CHECK(columns.at("round_trip_p50")[2].is_null());
}

TEST_CASE("the state says what is most urgent") {
  Snapshot snapshot;
  snapshot.workers.resize(2);
  CHECK(snapshot.state() == State::running);
  snapshot.total.draining = true;
  CHECK(snapshot.state() == State::draining);
  snapshot.total.bypass = true;
  CHECK(snapshot.state() == State::bypass);
  snapshot.stopping = true;
  CHECK(snapshot.state() == State::stopping);
  snapshot.workers[1].alive = false;
  CHECK(snapshot.state() == State::silent);
}

TEST_CASE("docs/operate/metrics.md is what `longhaul metrics` prints") {
  std::ifstream file(std::string(TEST_ROOT) + "/../docs/operate/metrics.md");
  std::ostringstream page;
  page << file.rdbuf();
  // To write the page again: longhaul metrics > docs/operate/metrics.md
  CHECK(page.str() == metrics_page());
}
