// SPDX-License-Identifier: BSD-3-Clause
// `longhaul plan workload`: what an application gets over a link, and what would help it. Workloads are YAML files
// (config/workloads has some, docs/plan.md the schema).
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

/// NVMe-oF: I/Os of a mix, so many in flight at a time.
struct StorageLoad {
  struct Stream {
    double share = 0;  ///< of the I/Os, as published
    std::uint64_t size = 0;
    bool write = false;
    bool random = false;
  };
  std::uint32_t queues = 1;  ///< QPs, each with `depth` I/Os in flight
  std::uint32_t depth = 128;
  std::uint32_t deep_depth = 1024;  ///< of the deep queues
  std::uint64_t in_capsule = 8192;  ///< a write up to here travels in its command; a larger one is fetched by READ
  Duration device_time = 0;         ///< that the device takes for an I/O
  std::uint64_t ios = 1'000'000;    ///< for the time that they take
  std::vector<Stream> streams;
};

/// Live migration of a virtual machine, pre-copy.
struct MigrationLoad {
  struct Published {
    std::optional<double> seconds;  ///< none: it never finished
    std::string remark;             ///< "2 of 4 failed"
  };
  struct Machine {
    std::uint64_t memory = 0;          ///< bytes
    std::vector<Published> rdma, tcp;  ///< for each of `dirty`; empty: nothing is published
  };
  std::vector<Machine> machines;
  std::uint64_t storage = 0;    ///< bytes that are copied first
  std::uint64_t host_rate = 0;  ///< bits per second that the hosts manage themselves; 0: no limit
  std::uint64_t message = 1 << 20;
  std::uint32_t depth = 512;
  std::vector<double> dirty;    ///< shares of the memory ...
  Duration dirty_interval = 0;  ///< ... that are written in such a time
  Duration downtime = milliseconds(300);
  std::uint32_t rounds = 30;                ///< after so many it is given up
  std::optional<std::uint64_t> dirty_rate;  ///< bits per second, of each machine; instead of the shares
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
    bool answered = false;    ///< the application waits for the far application's own answer to each
    double wanted = 0;        ///< messages per second that there are to send; 0: as many as can be
    std::uint64_t total = 0;  ///< bytes to send; 0: no end
  };
  std::vector<Stream> streams;
};

struct Workload {
  std::string title;
  std::string source;                ///< where its figures come from
  std::vector<std::string> remarks;  ///< on the source, what is assumed
  Duration round_trip = milliseconds(1);
  std::variant<StorageLoad, MigrationLoad, StreamLoad, MessageLoad> load;
};

/// Throws config::ConfigError.
Workload read_workload(const config::Value& top);

/// Where it runs, and with what.
struct Circumstances {
  Link link;
  Hosts hosts;  ///< NIC depth, READ depth, turnaround, path MTU; the workload has depth and QPs
  Hosts deep;   ///< depth and NIC depth of the deep queues
  Pair pair;
  double loss = 0;
};

/// What a workload answers: the tables, and a picture of it.
struct WorkloadAnswer {
  Report report;
  Plot plot;
};
WorkloadAnswer answer(const Workload& workload, const Circumstances& circumstances);

WorkloadAnswer answer(const Workload& workload, const StorageLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const MigrationLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const StreamLoad& load, const Circumstances& circumstances);
WorkloadAnswer answer(const Workload& workload, const MessageLoad& load, const Circumstances& circumstances);

/// Title, facts and remarks that all have.
Report begin_report(const Workload& workload, const Circumstances& circumstances);

// ---- the models ---------------------------------------------------------------------------------

/// I/Os per second of a closed loop, and what bounds them.
struct StorageResult {
  double per_second = 0;
  double latency = 0;     ///< seconds, mean: in flight / per_second (Little)
  double reads_bps = 0;   ///< payload, from the target
  double writes_bps = 0;  ///< payload, to the target
  std::string limit;      ///< iodepth, line, nic_depth, read_depth, box
};
StorageResult predict(const StorageLoad& load, const Scenario& scenario);
/// Round trips that one I/O takes.
unsigned round_trips(const StorageLoad& load, const StorageLoad::Stream& stream);
/// Seconds of one I/O alone.
double latency(const StorageLoad& load, const StorageLoad::Stream& stream, const Scenario& scenario);

/// Pre-copy: each round sends what was written during the round before.
struct MigrationResult {
  bool finishes = false;
  unsigned rounds = 0;
  double seconds = 0;   ///< storage, rounds and the last part
  double downtime = 0;  ///< seconds that the machine stands still
};
MigrationResult migrate(const MigrationLoad& load, std::uint64_t memory, double bytes_per_second,
                        double dirty_bytes_per_second);

}  // namespace longhaul::plan
