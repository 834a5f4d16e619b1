# SPDX-License-Identifier: BSD-3-Clause
"""A planted machine: a directory with the files of /proc, /sys, /dev and /lib/modules that `longhaul doctor` reads."""
import pathlib
import struct

FLAGS = ("fpu tsc constant_tsc nonstop_tsc pni pclmulqdq ssse3 cx16 sse4_1 sse4_2 popcnt aes avx lahf_lm avx2 avx512f "
         "avx512dq avx512cd avx512bw avx512vl avx512_vbmi2 gfni vaes vpclmulqdq avx512_vnni avx512_bitalg "
         "avx512_vpopcntdq").split()
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
PCI = "sys/bus/pci"
MIB = 1024 * 1024
HOST, WAN = "0000:81:00.0", "0000:81:00.1"  # the NIC for the box, on node 1
SYSTEM_NIC = "0000:01:00.0"  # the machine's own, eth0
CORES_OF_NODE = ({0, 1, 4, 5}, {2, 3, 6, 7})  # cores 0 to 3, thread 2 of core N is processor N + 4


class Tree:
    """All paths are relative to the planted root."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def write(self, path, text):
        at = self.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())

    def link(self, path, target):
        at = self.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.unlink(missing_ok=True)
        at.symlink_to(target)

    def remove(self, path):
        at = self.root / path
        if at.is_symlink() or not at.is_dir():
            at.unlink()
            return
        for inner in at.iterdir():
            self.remove(inner.relative_to(self.root))
        at.rmdir()

    def replace(self, path, old, new):
        text = (self.root / path).read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{path}: no {old!r} to replace")
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    # What a fault is made of.

    def flags_without(self, *missing):
        flags = " ".join(flag for flag in FLAGS if flag not in missing)
        self.write("proc/cpuinfo", f"vendor_id\t: GenuineIntel\nflags\t\t: {flags}")

    def hugepages(self, node, kib, total, free):
        for name, count in (("nr", total), ("free", free)):
            self.write(f"{NODE}/node{node}/hugepages/hugepages-{kib}kB/{name}_hugepages", count)
        pages = [self.root / NODE / f"node{n}/hugepages/hugepages-{kib}kB" for n in (0, 1)]
        for name in ("nr", "free"):
            of_nodes = [at / f"{name}_hugepages" for at in pages]
            total = sum(int(file.read_text(encoding="utf-8")) for file in of_nodes if file.exists())
            self.write(f"sys/kernel/mm/hugepages/hugepages-{kib}kB/{name}_hugepages", total)

    def nic(self, address, driver, node, group):
        at = f"{PCI}/devices/{address}"
        self.write(f"{at}/class", "0x020000")
        self.write(f"{at}/numa_node", node)
        for name, value in (("speed", "16.0 GT/s PCIe"), ("width", 16)):
            self.write(f"{at}/current_link_{name}", value)
            self.write(f"{at}/max_link_{name}", value)
        self.link(f"{at}/iommu_group", f"../../../../kernel/iommu_groups/{group}")
        self.link(f"sys/kernel/iommu_groups/{group}/devices/{address}", f"../../../../bus/pci/devices/{address}")
        self.bind(address, driver)

    def bind(self, address, driver):
        (self.root / PCI / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        self.link(f"{PCI}/devices/{address}/driver", f"../../drivers/{driver}")

    def interface(self, name, mtu, flags="0x1003", carrier=1, nic=None):
        for key, value in (("mtu", mtu), ("flags", flags), ("carrier", carrier)):
            self.write(f"sys/class/net/{name}/{key}", value)
        if nic:
            (self.root / PCI / "devices" / nic / "net" / name).mkdir(parents=True, exist_ok=True)


def plant(root):
    """A healthy machine: two sockets, four cores with two threads each, a NIC for the box on node 1."""
    tree = Tree(root)
    tree.flags_without()
    tree.write(f"{CPU}/online", "0-7")
    tree.write(f"{CPU}/isolated", "2-3,6-7")
    for node, processors in enumerate(CORES_OF_NODE):
        for number in processors:
            tree.write(f"{NODE}/node{node}/cpu{number}/online", 1)
            tree.write(f"{CPU}/cpu{number}/topology/thread_siblings_list", f"{number % 4},{number % 4 + 4}")
            tree.write(f"{CPU}/cpu{number}/cpufreq/scaling_governor", "performance")
            for state, (name, latency, disabled) in enumerate((("POLL", 0, 0), ("C1", 2, 0), ("C6", 133, 1))):
                for key, value in (("name", name), ("latency", latency), ("disable", disabled)):
                    tree.write(f"{CPU}/cpu{number}/cpuidle/state{state}/{key}", value)
    tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    tree.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm")
    tree.write("proc/meminfo", f"MemAvailable: {64 * MIB} kB\nHugepagesize:  2048 kB")
    for node in (0, 1):
        tree.hugepages(node, 2048, 2048, 2048)
        tree.hugepages(node, 1048576, 0, 0)
    tree.write("proc/mounts", "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0")
    tree.nic(SYSTEM_NIC, "igb", 0, 10)
    tree.interface("eth0", 1500, nic=SYSTEM_NIC)
    tree.nic(HOST, "vfio-pci", 1, 20)
    tree.nic(WAN, "vfio-pci", 1, 21)
    tree.write(f"{PCI}/devices/0000:00:1f.0/class", "0x060100")  # not a NIC
    tree.interface("veth-host", 9000)
    tree.interface("veth-wan", 9000)
    tree.write("sys/class/net/bonding_masters", "")
    tree.write("sys/class/iommu/dmar0/uevent", "")
    tree.write("proc/sys/kernel/osrelease", "6.1.0-test")
    tree.write("lib/modules/6.1.0-test/modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko: kernel/drivers/vfio/vfio.ko")
    tree.write("proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units\n"
                                   "Max locked memory         unlimited            unlimited            bytes")
    tree.write("proc/self/status", "Name:\tlonghaul\nCapEff:\t0000000000000000")
    tree.write("dev/cpu_dma_latency", struct.pack("<i", 2_000_000_000))
    tree.write("sys/kernel/security/lockdown", "[none] integrity confidentiality")
    return tree
