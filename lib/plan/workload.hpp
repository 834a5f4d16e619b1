// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan workload`: an application's throughput over a link, and what would help it. Workloads are YAML files
// (examples in config/workloads, schema in docs/plan.md).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/document.hpp"
#include "plan/advice.hpp"
#include "plan/plot.hpp"
#include "plan/scenario.hpp"
#include "plan/table.hpp"

namespace longhaul::plan {

/// NVMe-oF: a mix of I/Os, with a fixed number in flight.
struct StorageLoad {
  struct Stream {
    double share = 0;  ///< share of the I/Os, as published
    std::uint64_t size = 0;
    bool write = false;
    bool random = false;
  };
  std::uint32_t queues = 1;  ///< QPs, each with `depth` I/Os in flight
  std::uint32_t depth = 128;
  std::uint32_t deep_depth = 1024;  ///< depth with deep queues
  std::uint64_t in_capsule = 8192;  ///< up to this size a write travels in its command; a larger one is fetched by READ
  Duration device_time = 0;         ///< service time of the device for an I/O
  std::uint64_t ios = 1'000'000;    ///< the result includes the time for this many
  std::vector<Stream> streams;
};

/// Live migration of a virtual machine, pre-copy.
struct MigrationLoad {
  struct Published {
    std::optional<double> seconds;  ///< none: the migration never finished
    std::string remark;             ///< "2 of 4 failed"
  };
  struct Machine {
    std::uint64_t memory = 0;          ///< bytes
    std::vector<Published> rdma, tcp;  ///< for each of `dirty`; empty: not published
  };
  std::vector<Machine> machines;
  std::uint64_t storage = 0;    ///< bytes that are copied before the memory
  std::uint64_t host_rate = 0;  ///< bits per second that the hosts can manage; 0: no limit
  std::uint64_t message = 1 << 20;
  std::uint32_t depth = 512;
  std::vector<double> dirty;    ///< fractions of the memory ...
  Duration dirty_interval = 0;  ///< ... that are written in this time
  Duration downtime = milliseconds(300);
  std::uint32_t rounds = 30;                ///< the migration is given up after this many
  std::optional<std::uint64_t> dirty_rate;  ///< bits per second, of each machine; instead of `dirty`
};

/// Unacknowledged streams (UC, WRITE with immediate) at a rate of their own.
struct StreamLoad {
  std::uint32_t qps = 1;
  std::uint64_t message = 0;
  std::uint64_t rate_per_qp = 0;  ///< bits per second of payload
};

/// Messages of RC connections.
struct MessageLoad {
  struct Stream {
    std::string name;
    Operation operation = Operation::write;
    std::uint64_t size = 0;
    std::uint32_t qps = 1;
    std::uint32_t depth = 128;
    bool answered = false;    ///< the application waits for the far application's own answer to each message
    double wanted = 0;        ///< messages per second that the application has to send; 0: as many as possible
    std::uint64_t total = 0;  ///< bytes to send; 0: no end
  };
  std::vector<Stream> streams;
};

struct Workload {
  std::string title;
  std::string source;                ///< origin of its figures
  std::vector<std::string> remarks;  ///< on the source and the assumptions
  Duration round_trip = milliseconds(1);
  std::variant<StorageLoad, MigrationLoad, StreamLoad, MessageLoad> load;
};

/// Throws config::ConfigError.
Workload read_workload(const config::Value& top);

/// The link, hosts and boxes with which a workload runs.
struct Circumstances {
  Link link;
  Hosts hosts;  ///< NIC depth, READ depth, turnaround, path MTU; depth and QPs come from the workload
  Hosts deep;   ///< depth and NIC depth with deep queues
  Pair pair;
  double loss = 0;
};

/// The answer for a workload: tables and a picture.
struct WorkloadAnswer {
  Report report;
  Plot plot;
};
WorkloadAnswer answer(const Workload& workload, const Circumstances& circumstances);

WorkloadAnswer answer(const Workload& workload, const StorageLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const MigrationLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const StreamLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const MessageLoad& load, const Circumstances& circumstances);

/// Title, facts and remarks common to all workloads.
Report begin_report(const Workload& workload, const Circumstances& circumstances);

// ---- the models ---------------------------------------------------------------------------------

/// I/Os per second of a closed loop, and their limit.
struct StorageResult {
  double per_second = 0;
  double latency = 0;       ///< seconds, mean: in flight / per_second (Little)
  double reads_bps = 0;     ///< payload, from the target
  double writes_bps = 0;    ///< payload, to the target
  std::string limit;        ///< iodepth, line, nic_depth, read_depth, box
  double behind_reads = 0;  ///< of the target's SENDs and WRITEs: the share that is posted behind an unfinished READ
};
StorageResult predict(const StorageLoad& load, const Scenario& scenario);
/// Round trips that one I/O takes.
unsigned round_trips(const StorageLoad& load, const StorageLoad::Stream& stream);
/// Seconds that one I/O takes alone.
double latency(const StorageLoad& load, const StorageLoad::Stream& stream, const Scenario& scenario);

/// Pre-copy: each round sends what was written during the previous round.
struct MigrationResult {
  bool finishes = false;
  unsigned rounds = 0;
  double seconds = 0;   ///< storage, rounds and the final part
  double downtime = 0;  ///< seconds that the machine stands still
};
MigrationResult migrate(const MigrationLoad& load, std::uint64_t memory, double bytes_per_second,
                        double dirty_bytes_per_second);

}  // namespace longhaul::plan
