# SPDX-License-Identifier: BSD-3-Clause
"""Single faults of a machine, each with what `longhaul doctor` must find: nothing less, and nothing else."""
import struct
from dataclasses import dataclass
from typing import Callable

from tree import CPU, HOST, NODE, PCI, SYSTEM_NIC, WAN

# A box with two NICs and two workers on node 1, and one for a lab.
NICS = """
name: near
ports: {host: {pci: "0000:81:00.0"}, wan: {pci: "0000:81:00.1"}}
cores: [2, 3]
mtu: 9000
"""
LAB = """
name: lab
ports:
  host: {vdev: "net_af_packet0,iface=veth-host,framesz=16384,blocksz=1048576,framecnt=1024"}
  wan: {vdev: "net_af_packet1,iface=veth-wan,framesz=16384,blocksz=1048576,framecnt=1024"}
hugepages: false
idle: sleep
"""
CONFIGS = {"none": None, "nics": NICS, "lab": LAB, "forward": NICS + "link_loss: forward\n"}


@dataclass
class Fault:
    name: str
    configs: str  # judged with each of these, by name
    found: dict  # check: level, of all that are not ok
    mend: str  # stands in one of the remedies
    plant: Callable


FAULTS = []


def fault(configs, mend, **found):
    def add(plant):
        FAULTS.append(Fault(plant.__name__, configs, {k.replace("_", "-"): v for k, v in found.items()}, mend, plant))
        return plant
    return add


# Memory.


@fault("none", "echo 2048 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", hugepages="error")
def no_hugepages_reserved(tree):
    for node in (0, 1):
        tree.hugepages(node, 2048, 0, 0)


@fault("none nics", "")
def hugepages_of_another_size(tree):
    for node in (0, 1):
        tree.hugepages(node, 2048, 0, 0)
        tree.hugepages(node, 1048576, 4, 4)


@fault("none", "processes hold all of them", hugepages="warning")
def all_hugepages_in_use(tree):
    for node in (0, 1):
        tree.hugepages(node, 2048, 2048, 0)


@fault("nics", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", hugepages="error", hugepages_node="warning")
def too_few_hugepages(tree):
    for node in (0, 1):
        tree.hugepages(node, 2048, 10, 10)


@fault("nics", "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", hugepages_node="warning")
def hugepages_on_the_other_node(tree):
    tree.hugepages(1, 2048, 0, 0)
    tree.hugepages(0, 2048, 4096, 4096)


@fault("none nics", "mount -t hugetlbfs", hugepages_mount="warning")
def hugetlbfs_not_mounted(tree):
    tree.replace("proc/mounts", "hugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n", "")


@fault("none nics", "ulimit -l unlimited", lock_limit="error")
def memory_lock_limit(tree):
    tree.replace("proc/self/limits", "Max locked memory         unlimited ", "Max locked memory         8388608   ")


@fault("lab", "fewer connections or less custody", memory="error")
def too_little_memory(tree):
    tree.replace("proc/meminfo", f"MemAvailable: {64 * 1024 * 1024} kB", "MemAvailable: 100000 kB")


# Processors.


@fault("none nics lab", "host-passthrough", processor="error")
def old_processor(tree):
    tree.flags_without("sse4_2", "popcnt")


@fault("none nics lab", "host-passthrough", processor="warning")
def no_carryless_multiplication(tree):
    tree.flags_without("pclmulqdq", "vpclmulqdq", "vaes")


@fault("none nics lab", "invtsc", tsc="error")
def tsc_that_stops(tree):
    tree.flags_without("nonstop_tsc")


@fault("none nics lab", "invtsc", tsc="error")
def tsc_that_changes(tree):
    tree.flags_without("constant_tsc")


@fault("none nics lab", "echo tsc >", clocksource="warning")
def other_clocksource(tree):
    tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")


@fault("none nics lab", "journalctl -k", clocksource="warning")
def tsc_found_unstable(tree):
    tree.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
    tree.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm")


@fault("nics", "cpuN/online", cores="error")
def configured_core_is_offline(tree):
    tree.write(f"{CPU}/online", "0-2,4-7")


@fault("none nics", "isolcpus=managed_irq,domain,", core_isolation="warning")
def nothing_isolated(tree):
    tree.write(f"{CPU}/isolated", "")
    for number in range(8):  # or that would be a second fault, of the workers' siblings
        tree.write(f"{CPU}/cpu{number}/topology/thread_siblings_list", number)


@fault("nics", "isolcpus=managed_irq,domain,2-3,7", core_isolation="warning")
def one_worker_not_isolated(tree):
    tree.write(f"{CPU}/isolated", "2,7")
    for number in range(8):
        tree.write(f"{CPU}/cpu{number}/topology/thread_siblings_list", number)


@fault("nics", "one processor of each core", core_siblings="warning")
def workers_on_one_core(tree):
    for number in (2, 3):
        tree.write(f"{CPU}/cpu{number}/topology/thread_siblings_list", "2-3")


@fault("none nics", "cpu6/online", core_siblings="warning")
def sibling_open_to_everybody(tree):
    tree.write(f"{CPU}/isolated", "2-3,7")


@fault("none nics", "processors of node 0: 0-1,4-5", core_node="warning")
def nic_on_another_node(tree):
    for address in (HOST, WAN):
        tree.write(f"{PCI}/devices/{address}/numa_node", 0)


@fault("none nics", "frequency-set --governor performance", governor="warning")
def governor_saves_power(tree):
    tree.write(f"{CPU}/cpu2/cpufreq/scaling_governor", "powersave")


@fault("none lab", "idle-set --disable-by-latency 10", c_states="warning")
def deep_idle_state(tree):
    tree.write(f"{CPU}/cpu3/cpuidle/state2/disable", 0)


# NICs.


@fault("none nics", "intel_iommu=on iommu=pt", iommu="error")
def no_iommu(tree):
    tree.remove("sys/class/iommu")
    tree.remove("sys/kernel/iommu_groups")


@fault("none nics", "intel_iommu=on iommu=pt", iommu="warning")
def vfio_without_iommu(tree):
    no_iommu(tree)
    tree.write("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")


@fault("none nics", "Secure Boot", iommu="warning", lockdown="error")
def lockdown_without_iommu(tree):
    vfio_without_iommu(tree)
    tree.write("sys/kernel/security/lockdown", "none [integrity] confidentiality")


@fault("none nics", "driverctl set-override", nics="error", vfio="warning")
def nics_held_by_the_kernel(tree):
    for number, address in enumerate((HOST, WAN)):
        tree.bind(address, "ice")
        tree.interface(f"ens{number}", 9000, nic=address)
    tree.remove(f"{PCI}/drivers/vfio-pci")


@fault("none nics", "driverctl set-override", nics="error")
def one_nic_held_by_the_kernel(tree):
    tree.bind(WAN, "ice")


@fault("none nics", "dpdk-devbind.py --bind=vfio-pci", nics="error")
def nic_without_driver(tree):
    tree.remove(f"{PCI}/devices/{WAN}/driver")


@fault("none nics", "modprobe vfio-pci", vfio="warning")
def vfio_not_loaded(tree):
    for address in (HOST, WAN):
        tree.bind(address, "uio_pci_generic")
    tree.remove(f"{PCI}/drivers/vfio-pci")


@fault("none nics", "CONFIG_VFIO_PCI", vfio="error")
def kernel_without_vfio(tree):
    vfio_not_loaded(tree)
    tree.write("lib/modules/6.1.0-test/modules.dep", "kernel/drivers/net/veth.ko:")


@fault("nics", "dpdk-devbind.py --status-dev net", nics="error")
def configured_nic_is_not_there(tree):
    tree.remove(f"{PCI}/devices/{WAN}")


@fault("none", "another NIC", nics="error")
def one_nic_in_all(tree):
    for address in (WAN, SYSTEM_NIC):
        tree.remove(f"{PCI}/devices/{address}")


@fault("nics", "whole groups", nics="error")
def group_shared_with_a_driver(tree):
    tree.nic("0000:81:00.2", "nvme", 1, 20)
    tree.write(f"{PCI}/devices/0000:81:00.2/class", "0x010802")


@fault("nics", "ethtool", nics="warning")
def shared_nic_without_link(tree):
    for number, address in enumerate((HOST, WAN)):
        tree.bind(address, "mlx5_core")
        tree.interface(f"ens{number}", 9000, carrier=1 - number, nic=address)


@fault("none nics", "name enable_roce value false", nic_settings="warning")
def connectx_takes_in_roce(tree):
    tree.bind(WAN, "mlx5_core")
    tree.write(f"{PCI}/devices/{WAN}/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0202:c9ff:fe00:0001")


@fault("none nics", "")
def connectx_without_roce(tree):
    tree.bind(WAN, "mlx5_core")
    (tree.root / f"{PCI}/devices/{WAN}/infiniband/mlx5_0/ports/1/gids").mkdir(parents=True)


@fault("none nics", "/lib/firmware/intel/ice/ddp", nic_settings="error")
def e810_without_package(tree):
    tree.write(f"{PCI}/devices/{HOST}/vendor", "0x8086")
    tree.write(f"{PCI}/devices/{HOST}/device", "0x159b")


@fault("none nics", "")
def e810_with_package(tree):
    e810_without_package(tree)
    tree.write("lib/firmware/intel/ice/ddp/ice-1.3.30.0.pkg", "")
    tree.link("lib/firmware/intel/ice/ddp/ice.pkg", "ice-1.3.30.0.pkg")


@fault("forward", "physical function", nic_settings="warning")
def virtual_function_follows_the_link(tree):
    tree.link(f"{PCI}/devices/{HOST}/physfn", "../0000:82:00.0")


@fault("none nics", "")
def virtual_function(tree):
    virtual_function_follows_the_link(tree)


def function_of(tree, driver):
    """The host port is a virtual function; its physical one has this driver, and an RDMA device with RoCE."""
    owner = "0000:82:00.0"
    tree.nic(owner, driver, 1, 30)
    tree.link(f"{PCI}/devices/{HOST}/physfn", f"../{owner}")
    tree.write(f"{PCI}/devices/{owner}/infiniband/rdma0/ports/1/gids/0", "fe80:0000:0000:0000:0202:c9ff:fe00:0001")


@fault("nics", "pci/0000:82:00.0 name enable_roce value false cmode runtime", nic_settings="warning")
def function_of_an_e810_that_takes_in_roce(tree):
    function_of(tree, "ice")


@fault("nics", "blacklist bnxt_re", nic_settings="warning")
def function_of_a_thor_that_takes_in_roce(tree):
    function_of(tree, "bnxt_en")


@fault("nics", "pci/0000:82:00.0 name enable_roce value false cmode driverinit", nic_settings="warning")
def function_of_a_connectx_that_takes_in_roce(tree):
    function_of(tree, "mlx5_core")


@fault("nics", "")
def function_of_an_e810_without_rdma(tree):
    function_of(tree, "ice")
    tree.remove(f"{PCI}/devices/0000:82:00.0/infiniband")


@fault("none nics", "modprobe -r mana_ib", nic_settings="warning")
def mana_takes_in_roce(tree):
    tree.bind(WAN, "mana")
    tree.write(f"{PCI}/devices/{WAN}/infiniband/mana_0/ports/1/gids/0", "fe80:0000:0000:0000:0202:c9ff:fe00:0001")


@fault("none nics", "LnkSta", pcie="warning")
def slot_with_fewer_lanes(tree):
    tree.write(f"{PCI}/devices/{HOST}/current_link_width", 4)


@fault("none nics", "LnkSta", pcie="warning")
def slot_of_an_older_generation(tree):
    tree.write(f"{PCI}/devices/{WAN}/current_link_speed", "8.0 GT/s PCIe")


# Interfaces of the kernel.


@fault("lab", "interfaces that ip link shows", interfaces="error")
def interface_is_not_there(tree):
    tree.remove("sys/class/net/veth-wan")


@fault("lab", "ip link set dev veth-wan up", interfaces="error")
def interface_is_down(tree):
    tree.interface("veth-wan", 9000, flags="0x1002", carrier=0)


@fault("lab", "other end of the veth pair", interfaces="warning")
def interface_without_link(tree):
    tree.interface("veth-wan", 9000, carrier=0)


@fault("lab", "ip link set dev veth-wan mtu N", mtu="error")
def interfaces_of_different_mtu(tree):
    tree.interface("veth-wan", 1500)


# What may look like a fault and is none.


@fault("nics", "")
def iommu_is_not_needed_by_connectx(tree):
    for number, address in enumerate((HOST, WAN)):
        tree.bind(address, "mlx5_core")
        tree.interface(f"ens{number}", 9000, nic=address)
    no_iommu(tree)
    tree.remove(f"{PCI}/drivers/vfio-pci")


@fault("lab", "")
def lab_needs_nothing_of_nics(tree):
    no_iommu(tree)
    for node in (0, 1):
        tree.hugepages(node, 2048, 0, 0)
    for address in (HOST, WAN):
        tree.remove(f"{PCI}/devices/{address}")
    tree.remove(f"{PCI}/drivers/vfio-pci")
    memory_lock_limit(tree)
    tree.write(f"{CPU}/isolated", "")
    tree.write("sys/kernel/security/lockdown", "none integrity [confidentiality]")


@fault("nics", "")
def lockdown_behind_an_iommu(tree):
    tree.write("sys/kernel/security/lockdown", "none [integrity] confidentiality")


@fault("none nics", "")
def lock_limit_does_not_bind_the_privileged(tree):
    memory_lock_limit(tree)
    tree.write("proc/self/status", "Name:\tlonghaul\nCapEff:\t000001ffffffffff")


@fault("none lab", "")
def deep_idle_states_are_held_off(tree):
    deep_idle_state(tree)
    tree.write("dev/cpu_dma_latency", struct.pack("<i", 5))


@fault("nics", "")
def pollers_do_not_sleep(tree):
    deep_idle_state(tree)


@fault("none nics lab", "")
def files_that_cannot_be_read(tree):
    """As the carrier of an interface that is down: opened, and then an error. A directory does the same."""
    tree.interface("eth1", 1500, flags="0x1002")
    tree.remove("sys/class/net/eth1/carrier")
    (tree.root / "sys/class/net/eth1/carrier").mkdir()


@fault("none nics lab", "")
def kernel_tells_little(tree):
    """A virtual machine: no frequencies, no idle states, no NUMA nodes of devices, no lockdown, no PCIe links."""
    for number in range(8):
        tree.remove(f"{CPU}/cpu{number}/cpufreq")
        tree.remove(f"{CPU}/cpu{number}/cpuidle")
    for address in (HOST, WAN):
        tree.write(f"{PCI}/devices/{address}/numa_node", -1)
        for name in ("current_link_width", "current_link_speed", "max_link_width", "max_link_speed"):
            tree.remove(f"{PCI}/devices/{address}/{name}")
    tree.remove("sys/kernel/security/lockdown")
    tree.remove("dev/cpu_dma_latency")
    tree.remove(NODE)
