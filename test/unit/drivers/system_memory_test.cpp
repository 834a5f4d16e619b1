// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drivers/sysfs.hpp"
#include "drivers/system_memory.hpp"
#include "support/temporary_directory.hpp"

using namespace longhaul::drivers;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A /proc and a /sys of its own.
struct FakeRoot {
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path at = path + file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }

  const longhaul::test::TemporaryDirectory directory;
  const std::string path = directory.path.string();
};

SystemMemory with_pages(std::uint64_t total, std::uint64_t free) {
  return {{{2 * kMiB, total, free}, {1024 * kMiB, 0, 0}}, 2 * kMiB, 8000 * kMiB};
}

}  // namespace

TEST_CASE("hugepages and memory are read from /proc and /sys") {
  const FakeRoot root;
  root.write("/proc/meminfo", "MemTotal:  1 kB\nMemAvailable:    2048 kB\nHugepagesize:       2048 kB\n");
  root.write("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "4\n");
  root.write("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
  root.write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "20\n");
  root.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "16\n");
  const SystemMemory memory = SystemMemory::read(root.path);
  CHECK(memory.available_bytes == 2 * kMiB);
  CHECK(memory.default_page_bytes == 2 * kMiB);
  REQUIRE(memory.hugepages.size() == 2);
  CHECK(memory.hugepages[0].total == 20);
  CHECK(memory.free_hugepage_bytes() == (1024 + 32) * kMiB);
}

TEST_CASE("the pages and processors of a NUMA node are its own, and what is missing there is told with its command") {
  const FakeRoot root;
  const std::string node = "/sys/devices/system/node/node1";
  root.write("/proc/meminfo", "MemAvailable:    2048 kB\nHugepagesize:       2048 kB\n");
  root.write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "400\n");
  root.write(node + "/hugepages/hugepages-2048kB/nr_hugepages", "200\n");
  root.write(node + "/hugepages/hugepages-2048kB/free_hugepages", "150\n");
  root.write("/sys/devices/system/node/node0/cpu0/online", "1\n");
  root.write(node + "/cpu17/online", "1\n");
  const SystemMemory memory = SystemMemory::read_node(1, root.path);
  REQUIRE(memory.hugepages.size() == 1);
  CHECK(memory.hugepages[0].total == 200);
  CHECK(memory.free_hugepage_bytes() == 300 * kMiB);
  CHECK(reservation_on_node(memory, 1, 400 * kMiB) ==
        "echo 250 > " + node + "/hugepages/hugepages-2048kB/nr_hugepages");
  // Enough is free, but not in one piece.
  CHECK_THAT(reservation_on_node(memory, 1, 100 * kMiB), Catch::Contains("echo 201 >"));
  CHECK(reservation_on_node(SystemMemory{}, 1, kMiB).empty());
  CHECK(node_of_processor(17, root.path) == 1);
  CHECK(node_of_processor(0, root.path) == 0);
  CHECK(node_of_processor(99, root.path) == 0);
}

TEST_CASE("this machine's memory can be read") { CHECK(SystemMemory::read().available_bytes > kMiB); }

TEST_CASE("a shortage is told with what is needed, what there is, and the command that helps") {
  CHECK(shortage(with_pages(512, 512), 1024 * kMiB, true).empty());
  CHECK(shortage(with_pages(512, 512), 1024 * kMiB + 1, true) ==
        "1025 MiB of hugepages are needed, 1024 MiB are free. Reserve them: echo 513 > "
        "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages (for a lab, `hugepages: false` uses ordinary memory)");
  // Another process uses 500 of them.
  CHECK_THAT(shortage(with_pages(512, 12), 1024 * kMiB, true),
             Catch::Contains("24 MiB are free. Reserve them: echo 1012"));
  CHECK_THAT(shortage(with_pages(0, 0), 100 * kMiB, true), Catch::Contains("0 MiB are free. Reserve them: echo 50 >"));
  // On a machine with pages of 1 GiB, more of those are reserved.
  SystemMemory large = with_pages(0, 0);
  large.hugepages[1] = {1024 * kMiB, 4, 4};
  CHECK_THAT(shortage(large, 4097 * kMiB, true),
             Catch::Contains("echo 5 > /sys/kernel/mm/hugepages/hugepages-1048576kB/"));
  CHECK_THAT(shortage({}, 1, true), Catch::Contains("this kernel does not support hugepages"));
  CHECK(shortage(with_pages(0, 0), 8000 * kMiB, false).empty());
  CHECK_THAT(shortage(with_pages(0, 0), 8001 * kMiB, false),
             Catch::Contains("8001 MiB of ordinary memory are needed, 8000 MiB are available"));
  CHECK(shortage({}, 8001 * kMiB, false).empty());  // the kernel does not say
}

TEST_CASE("the kernel's lists of processors are read and written") {
  CHECK(processors_of("0-3,8") == std::set<unsigned>{0, 1, 2, 3, 8});
  CHECK(processors_of("").empty());
  CHECK(processors_of("managed_irq,domain,2-3") == std::set<unsigned>{2, 3});
  CHECK(list_of({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(list_of({5}) == "5");
  CHECK(list_of({1, 3, 4}) == "1,3-4");
  CHECK(list_of({}).empty());
}

TEST_CASE("what cannot be read is empty, and throws nothing") {
  const FakeRoot root;
  root.write("/sys/inner/file", " word more \n\n");
  CHECK(text_in(root.path + "/sys/inner/file") == "word more");
  CHECK(text_in(root.path + "/sys/inner").empty());  // opens, but cannot be read
  CHECK(text_in(root.path + "/none").empty());
  CHECK_FALSE(number_in(root.path + "/sys/inner/file"));
  CHECK(names_in(root.path + "/none").empty());
  CHECK(linked_name(root.path + "/sys/inner/file").empty());
}
