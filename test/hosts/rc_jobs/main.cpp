// SPDX-License-Identifier: BSD-3-Clause
// rc_jobs: jobs in a row over RC queue pairs that are set up without RDMA-CM and come back; see --help.
#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "job.hpp"

namespace {

using namespace longhaul::jobs;

constexpr int kGood = 0, kBadJob = 1, kUsage = 2, kCannot = 3;
// How much longer than its own limit a job's process may live.
constexpr unsigned kGraceSeconds = 10;
constexpr std::chrono::seconds kFarewell{10};

struct Options {
  std::string server;
  std::string device;
  std::string between;
  std::uint16_t port = 18600;
  std::uint32_t jobs = 50;
  Kind kind = Kind::write;
  std::uint32_t messages = 400;
  std::uint32_t largest = 65536;
  std::uint32_t depth = 128;
  std::uint32_t psn = 0;
  std::uint32_t same_first = 1;
  bool vary = false;
  bool other_qpn = false;
  std::uint32_t leave_every = 0;
  std::uint32_t ack_timeout = 16;
  std::uint32_t job_seconds = 20;
  std::uint32_t seconds = 600;
  bool keep_going = false;
};

const std::map<std::string, Kind> kKinds{{"write", Kind::write}, {"send", Kind::send}, {"ping-pong", Kind::ping_pong}};

constexpr const char* kDescription =
    R"(Runs jobs in a row between a server and a client, over RC queue pairs that both make anew
for each job without RDMA-CM: QPNs and GIDs are told over a TCP connection, PSNs begin at
the same number each time, as NCCL, UCX and ibv_rc_pingpong do it. Each byte is a function
of job, message and offset; the server compares all of them and sends what it found back.

Without SERVER it is the server, which takes everything but --device, --port, --between and
--timeout from its client. --between makes QPNs come back where they would not: Soft-RoCE
counts on until its device is made anew.

  rc_jobs --between 'rdma link delete rxe0; rdma link add rxe0 type rxe netdev eth0' &
  rc_jobs --between ... --jobs 50 10.9.0.1        (on the other host)

Prints a line of JSON for each job. Exit code 0: each job was complete and each byte right;
1: one was not; 2: wrong usage; 3: it could not begin, or not within --timeout.)";

void add_options(CLI::App& app, Options& options) {
  app.add_option("server", options.server, "the server's address; its TCP connection also decides the GIDs");
  app.add_option("--jobs", options.jobs, "how many")->capture_default_str()->check(CLI::Range(1u, 1000000u));
  app.add_option("--kind", options.kind, "write: WRITEs, then a SEND; send: SENDs; ping-pong: SENDs, each answered")
      ->transform(CLI::CheckedTransformer(kKinds))
      ->option_text("KIND=write");
  app.add_option("--messages", options.messages, "of each job")->capture_default_str()->check(CLI::Range(1u, 10000u));
  app.add_option("--largest", options.largest, "bytes of the largest message; small ones are as frequent")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1u << 20));
  app.add_option("--depth", options.depth, "most messages under way")
      ->capture_default_str()
      ->check(CLI::Range(1u, 10001u));
  app.add_option("--psn", options.psn, "first PSN of each job, in both directions")
      ->capture_default_str()
      ->check(CLI::Range(0u, 0xffffffu));
  app.add_option("--same-first", options.same_first, "number of first messages that have the same bytes in every job")
      ->capture_default_str();
  app.add_flag("--vary", options.vary, "other sizes in each job");
  app.add_flag("--other-qpn", options.other_qpn, "the client's QPN is another in each job (the server's is not)");
  app.add_option("--leave-every", options.leave_every,
                 "one job in this many has its server killed at its beginning; the client exits after its last\n"
                 "completion, or when it hears of the kill; 0: none")
      ->capture_default_str();
  app.add_option("--ack-timeout", options.ack_timeout, "of the QPs: 4.096 us times two to this power")
      ->capture_default_str()
      ->check(CLI::Range(1u, 31u));
  app.add_option("--device", options.device, "RDMA device (default: the one that has the TCP connection's address)");
  app.add_option("--port", options.port, "TCP port of the server")->capture_default_str()->check(CLI::Range(1, 65535));
  app.add_option("--between", options.between, "shell command before each job, when nothing uses the device");
  app.add_option("--job-timeout", options.job_seconds, "seconds after which a job hangs")
      ->capture_default_str()
      ->check(CLI::Range(1u, 3600u));
  app.add_option("--timeout", options.seconds, "seconds for all jobs")
      ->capture_default_str()
      ->check(CLI::Range(1u, 86400u));
  app.add_flag("--keep-going", options.keep_going, "go on after a job that was not complete or not right");
}

[[noreturn]] void out_of_time(int) {
  constexpr char text[] = "rc_jobs: not done within --timeout\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof(text) - 1);
  ::_exit(kCannot);
}

void prepare(const std::string& command) {
  if (command.empty()) return;
  const int rc = std::system(command.c_str());
  if (rc != 0)
    throw std::runtime_error("--between '" + command + "' ended with exit code " +
                             std::to_string(WIFEXITED(rc) ? WEXITSTATUS(rc) : -1));
}

void print(const char* end, const Offer& offer, const Result& result) {
  nlohmann::ordered_json line{{"job", offer.pattern.job},
                              {"end", end},
                              {"verdict", result.verdict},
                              {"seconds", result.seconds},
                              {"comparing", result.comparing},
                              {"messages", offer.pattern.messages},
                              {"bytes", result.bytes},
                              {"compared", result.comparison.compared},
                              {"wrong", result.comparison.wrong},
                              {"missing", result.comparison.missing},
                              {"completed", result.completed},
                              {"qpn", result.qpn},
                              {"peer_qpn", result.peer_qpn},
                              {"rkey", result.rkey}};
  if (result.comparison.wrong > 0) line["first_wrong"] = result.comparison.first_wrong;
  if (!result.why.empty()) line["why"] = result.why;
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

/// Runs a job in a process of its own, so that nothing of it outlives it. Its exit code, or nothing if it was killed.
template <typename Run>
std::optional<int> in_child(std::uint32_t seconds, Run run) {
  std::fflush(stdout);
  const auto child = ::fork();
  if (child < 0) throw std::runtime_error(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(seconds + kGraceSeconds);
    try {
      ::_exit(run());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rc_jobs: %s\n", error.what());
      ::_exit(kCannot);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return {};
}

/// What a whole run exits with, when its jobs so far gave `total` and one more gave `job`.
int worse(int total, std::optional<int> job) { return std::max(total, job.value_or(kBadJob)); }

int serve(const Options& options) {
  Listener listener(options.port);
  const auto deadline = Clock::now() + std::chrono::seconds(options.seconds);
  int total = kGood;
  for (;;) {
    prepare(options.between);
    auto client = std::optional(listener.accept(deadline));
    // A client may need --between first, and has connected before.
    const auto offer = client->receive<Offer>(deadline);
    if (offer.magic != Offer::kMagic) throw std::runtime_error("the client speaks another language");
    if (offer.no_more) return total;
    const auto end = in_child(offer.seconds, [&] {
      const auto result = run_server(offer, options.device, *client);
      print("server", offer, result);
      return result.good() ? kGood : kBadJob;
    });
    if (!end && offer.ending == Ending::together)
      std::fprintf(stderr, "rc_jobs: the process of job %u was killed\n", offer.pattern.job);
    if (end || offer.ending == Ending::together) total = worse(total, end);
    if (total == kCannot) return total;
  }
}

Ending ending(const Options& options, std::uint32_t job) {
  // The last job is whole, so that it shows what the ones before have left.
  if (options.leave_every == 0 || job % options.leave_every != 0 || job == options.jobs) return Ending::together;
  return job / options.leave_every % 2 == 1 ? Ending::first_arrived : Ending::unheard;
}

ClientPlan plan(const Options& options, std::uint32_t job) {
  ClientPlan one;
  one.device = options.device;
  one.psn = options.psn;
  one.depth = options.depth;
  one.skip = options.other_qpn ? job : 0;
  one.offer.kind = options.kind;
  one.offer.ending = ending(options, job);
  one.offer.pattern = {job, options.messages, options.largest, options.same_first, options.vary};
  one.offer.seconds = options.job_seconds;
  one.offer.ack_timeout = static_cast<std::uint8_t>(options.ack_timeout);
  return one;
}

int be_client(const Options& options) {
  int total = kGood;
  for (std::uint32_t job = 1; job <= options.jobs && (total == kGood || options.keep_going); ++job) {
    prepare(options.between);
    const auto one = plan(options, job);
    total = worse(total, in_child(2 * options.job_seconds, [&] {
                    auto server = Stream::connect(options.server, options.port,
                                                  Clock::now() + std::chrono::seconds(options.job_seconds));
                    const auto result = run_client(one, server);
                    print("client", one.offer, result);
                    return result.good() ? kGood : kBadJob;
                  }));
    if (total == kCannot) return total;  // the server sees that, or was the reason
  }
  try {
    auto server = Stream::connect(options.server, options.port, Clock::now() + kFarewell);
    Offer last;
    last.no_more = 1;
    server.send(last);
  } catch (const std::runtime_error&) {
    if (total == kGood) throw;  // a server that failed may be gone already
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "rc_jobs");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kUsage;
  }
  ::signal(SIGALRM, out_of_time);
  ::alarm(options.seconds);
  try {
    return options.server.empty() ? serve(options) : be_client(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rc_jobs: %s\n", error.what());
    return kCannot;
  }
}
