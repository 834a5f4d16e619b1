# SPDX-License-Identifier: BSD-3-Clause
"""What happens to a fleet of two, step by step: test/packages/ansible runs them."""
import contextlib
import json
import os
import pathlib
import re
import signal

from debian import Failed, call
from fleet import ADDRESS, BOXES, GROUP, MANAGER, WEB_PORT, Ansible, MachinesPath, Stream
from lab.laboratory import Laboratory
from lab.path import Conditions
from lab.process import wait_until
from lab.tools import kernel
from lab.traffic import TRAFFIC

NEW, UNABLE, DEAD, DEAD_LATER = "0.2.0", "0.1.1", "0.1.2", "0.2.1"  # versions of packages
CONDITIONS = Conditions(distance="1000km")
# A ping is four round trips or more.
STREAMS = ((TRAFFIC["rping-cm-ipv4"], 250), (TRAFFIC["write-cm-ipv4"], 20000))
HUGEPAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")


class Test:
    """Steps in the order of a fleet's life; each begins where the one before has ended."""

    def __init__(self, directory, debs, lower, keys, host_key, books):
        self.directory, self.debs, self.books = directory, debs, books
        self.old = call("dpkg-deb", "--field", debs["old"], "Version").stdout.strip()
        self._lower, self._keys, self._host_key = lower, keys, host_key
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        program = self.directory / "program"
        call("dpkg-deb", "--extract", self.debs["old"], program)
        laboratory = self._stack.enter_context(Laboratory(
            kernel(), program / "usr/bin/longhaul", self.directory / "lab", capture=False,
            through=lambda network, longhaul: MachinesPath(network, longhaul, self._lower, self.directory / "machines")))
        self.path = laboratory.path
        for machine in self.path.machines.values():
            machine.boot()
        self.session = self._stack.enter_context(laboratory.session(CONDITIONS))
        self.ansible = Ansible(self.books, self.path.namespace, self.directory, self._keys[0], self._host_key)
        self.ansible.common = {"longhaul_package_file": str(self.debs["old"])}
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def steps(self):
        """All of them, (name, function) in order."""
        return [(step.__name__, step) for step in (
            self.lint, self.example_inventory, self.install, self.second_run_changes_nothing, self.unit_under_systemd,
            self.a_reloadable_setting_is_reloaded, self.another_setting_drains_and_restarts,
            self.a_mistake_in_the_configuration_is_refused, self.drain_and_resume, self.a_drain_that_does_not_end,
            self.a_package_that_takes_no_configuration_is_refused, self.a_package_that_does_not_start_is_taken_back,
            self.upgrade_one_by_one, self.back_by_the_apt_source, self.not_begun_when_a_box_is_not_well, self.a_box_boots)]

    def machine(self, name):
        return self.path.machines[name]

    def active(self, name):
        """Whether systemd has the box as started."""
        return self.machine(name).said("systemctl", "is-active", f"longhaul@{name}", check=False) == "active"

    def pid(self, name):
        return int(self.machine(name).said("systemctl", "show", "--value", "--property=MainPID", f"longhaul@{name}"))

    def pids(self):
        return {name: self.pid(name) for name in BOXES}

    def version(self, name):
        return self.path.box(name, "status", "--json")["version"]

    def installed(self, name):
        return self.machine(name).said("dpkg-query", "--show", "--showformat=${Version}", "longhaul")

    def journal(self, name, *words):
        return self.machine(name).said("journalctl", f"--unit=longhaul@{name}", "--output=short-unix", "--no-pager", *words)

    def value(self, name, key):
        """What a key of the configuration is worth in the running box."""
        return {row["key"]: row["value"] for row in self.path.box(name, "config", "show", "--json")["keys"]}[key]

    @contextlib.contextmanager
    def traffic(self):
        """Verified transfers, one after the other, for the length of a with block; all must be complete."""
        streams = [Stream(self.session, *kind) for kind in STREAMS]
        before = self.pseudo_acks()
        for stream in streams:
            stream.start()
        try:
            wait_until(lambda: self.pseudo_acks() > before + 200, 60, "traffic")
            yield
        except BaseException:
            for stream in streams:
                with contextlib.suppress(Failed):
                    stream.finish()
            raise
        told = [f"{stream.finish()} of {traffic.name}" for stream, (traffic, _) in zip(streams, STREAMS)]
        print(f"       complete: {', '.join(told)}")

    def pseudo_acks(self):
        """What the near box has acknowledged since its start."""
        return self.path.snapshot("near")["pseudo_acks"]

    # ---- judged without machines ------------------------------------------------------------------

    def lint(self):
        """ansible-lint, and Ansible itself with the example of an inventory."""
        books = [self.books / f"{name}.yml" for name in ("install", "upgrade", "drain")]
        environment = {**os.environ, "HOME": str(self.directory)}
        done = call("ansible-lint", "--offline", "--nocolor", *books, self.books / "roles/longhaul", cwd=self.books,
                    env=environment, check=False)
        if done.returncode:
            yield f"ansible-lint: exit {done.returncode}\n{done.stdout}"
        for book in books:
            call("ansible-playbook", "--syntax-check", "-i", self.books / "inventory.example.yml", book, env=environment)

    def example_inventory(self):
        """Each box of the example has a configuration that longhaul takes."""
        listed = json.loads(call("ansible-inventory", "-i", self.books / "inventory.example.yml", "--list",
                                 env={**os.environ, "HOME": str(self.directory)}).stdout)["_meta"]["hostvars"]
        for name, variables in listed.items():
            config = {"name": name, **variables["longhaul_config_common"], **variables["longhaul_config"]}
            file = self.directory / f"{name}.yaml"
            config["control"].pop("group")  # a group of theirs
            file.write_text(json.dumps(config), encoding="utf-8")
            done = call(self.directory / "program/usr/bin/longhaul", "run", "--config", file, "--check", check=False)
            if done.returncode:
                yield f"{name}: exit {done.returncode}, {done.stdout}"
        if len(listed) < 4:
            yield f"{sorted(listed)}: no two pairs"

    # ---- install and configure --------------------------------------------------------------------

    def install(self):
        """From nothing to two boxes that forward."""
        pages = int(HUGEPAGES.read_text()) + 4
        self.ansible.common["longhaul_hugepages"] = pages
        self.ansible.common["longhaul_sysctl"] = {"net.ipv4.conf.all.arp_ignore": 1}
        self.ansible("install").well()
        for name in BOXES:
            machine = self.machine(name)
            for question, wanted in (("is-active", "active"), ("is-enabled", "enabled")):
                said = machine.said("systemctl", question, f"longhaul@{name}", check=False)
                if said != wanted:
                    yield f"{name}: systemctl {question} says {said}"
            if self.version(name) != self.old:
                yield f"{name} runs {self.version(name)}"
            socket = machine.said("stat", "--format=%U:%G %a", f"/run/longhaul/{name}.sock")
            if socket != f"root:{GROUP} 660":
                yield f"{name}: the control socket is {socket}"
            if machine.said("sysctl", "--values", "net.ipv4.conf.all.arp_ignore") != "1":
                yield f"{name}: kernel settings are not taken over"
            if f"vm.nr_hugepages = {pages}" not in machine.said("cat", "/etc/sysctl.d/60-longhaul.conf"):
                yield f"{name}: no hugepages in /etc/sysctl.d"
        if int(HUGEPAGES.read_text()) != pages:
            yield f"{HUGEPAGES.read_text().strip()} hugepages instead of {pages}"
        outcome = self.session.transfer(TRAFFIC["rping-cm-ipv4"], 20)
        if not outcome.complete or self.pseudo_acks() == 0:
            yield f"a first transfer: {outcome}, {self.pseudo_acks()} pseudo-ACKs"

    def second_run_changes_nothing(self):
        before = self.pids()
        play = self.ansible("install").well()
        if any(play.changed().values()):
            yield f"changed: {play.changed()}\n{play.output}"
        if self.pids() != before:
            yield "a box was restarted"

    def unit_under_systemd(self):
        """What only a real service manager shows: readiness, capabilities, what is writable, the watchdog, a restart after
        a failure, the reload that it waits for."""
        name = "near"
        machine, first = self.machine(name), self.pid(name)
        status = dict(re.findall(r"(?m)^(\w+):\t(.*)$", machine.said("cat", f"/proc/{first}/status")))
        wanted = (1 << 12) | (1 << 13) | (1 << 14)  # CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK
        for field in ("CapEff", "CapBnd"):
            if int(status[field], 16) != wanted:
                yield f"{field} {status[field]}"
        if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2":
            yield f"NoNewPrivs {status['NoNewPrivs']}, Seccomp {status['Seccomp']}"
        if str(machine.said("getent", "group", GROUP).split(":")[2]) not in status["Groups"].split():
            yield f"groups {status['Groups']}: not {GROUP}"
        for place, can in (("/run/longhaul", True), ("/var/lib/longhaul", True), ("/etc/longhaul", False), ("/usr", False)):
            # findmnt sees the mounts of the process, the namespace that systemd has made for it.
            options = machine.said("findmnt", "--task", str(first), "--target", place, "--first-only", "--output=OPTIONS",
                                   "--noheadings").split(",")
            if ("rw" in options) != can:
                yield f"{place} is {options[0]} to the box"
        said = machine.said("systemctl", "show", "--value", "--property=StatusText", f"longhaul@{name}")
        if "host (net_af_packet0" not in said:
            yield f"status text: {said}"
        machine.run("systemctl", "reload", f"longhaul@{name}")
        if self.pid(name) != first:
            yield "a reload has restarted it"
        last = first
        for number, reason in ((signal.SIGSTOP, "Watchdog timeout"), (signal.SIGKILL, "code=killed, status=9/KILL")):
            machine.run("kill", f"-{int(number)}", str(last))
            wait_until(lambda last=last: self.pid(name) not in (0, last) and self.active(name), 60,
                       f"a new process after {number.name}")
            if reason not in self.journal(name):
                yield f"{number.name}: the journal does not say {reason}"
            last = self.pid(name)
        outcome = self.session.transfer(TRAFFIC["rping-cm-ipv4"], 20)
        if not outcome.complete:
            yield f"a transfer through the third process: {outcome}"
        warned = machine.said("journalctl", "--boot", "--priority=warning", "_PID=1", "--output=cat", "--no-pager")
        for line in warned.splitlines():
            if "longhaul" in line and not re.search("Watchdog timeout|result '(watchdog|signal)'|code=killed", line):
                yield f"systemd: {line}"

    def a_reloadable_setting_is_reloaded(self):
        before = self.pids()
        self.ansible.config["timers"] = {"give_up": "45s"}
        with self.traffic():
            play = self.ansible("install").well()
        if self.pids() != before:
            yield "restarted, not reloaded"
        for name in BOXES:
            if self.value(name, "timers.give_up") != "45s":
                yield f"{name}: timers.give_up {self.value(name, 'timers.give_up')}"
        if set(play.changed().values()) != {2}:  # the file, the reload
            yield f"changed: {play.changed()}"

    def another_setting_drains_and_restarts(self):
        """Under traffic; the far box has its own value, and stays as it is."""
        before = self.pids()
        self.ansible.boxes["near"]["longhaul_config"] = {"connections": 2048}
        with self.traffic():
            play = self.ansible("install").well()
        if self.pid("near") == before["near"] or self.value("near", "connections") != "2048":
            yield f"near: not restarted, connections {self.value('near', 'connections')}"
        if self.pid("far") != before["far"] or play.changed()["far"]:
            yield "far was touched"
        yield from self.lost_nothing(since=before)

    def lost_nothing(self, since):
        """By the words of the processes that ended, and the counters of those that run."""
        for name in BOXES:
            counters = self.path.snapshot(name)
            for counter in ("flows_failed", "failed_bytes", "flows_failed_by_restart", "failed_by_restart_bytes",
                            "unconfirmed_at_close_bytes", "unconfirmed_in_doubt_bytes"):
                if counters[counter]:
                    yield f"{name}: {counter} {counters[counter]}"
            if self.pid(name) == since[name]:
                continue
            said = self.machine(name).said("journalctl", f"_PID={since[name]}", "--output=cat", "--no-pager")
            if "left: 0 packets" not in said:
                yield f"{name}: the process that ended did not say that nothing was left:\n{said[-1500:]}"
            if counters["pseudo_acks"] == 0:
                yield f"{name}: does not accelerate"

    def a_mistake_in_the_configuration_is_refused(self):
        before, file = self.pids(), self.machine("near").said("cat", "/etc/longhaul/near.yaml")
        self.ansible.config["wan_rate"] = "fast"
        play = self.ansible("install")
        self.ansible.config["wan_rate"] = "100Gbps"
        if play.code == 0 or "wan_rate" not in play.output or not play.recap["near"].failed:
            yield f"exit {play.code}: {play.output}"
        yield from self.far_was_not_touched(play)
        if self.pids() != before or self.machine("near").said("cat", "/etc/longhaul/near.yaml") != file:
            yield "the mistake reached the box"

    @staticmethod
    def far_was_not_touched(play):
        if "far" in play.recap and (play.recap["far"].changed or play.recap["far"].failed):
            yield f"far was touched: {play.recap}"

    # ---- drain ------------------------------------------------------------------------------------

    def drain_and_resume(self):
        play = self.ansible("drain")
        if play.code == 0 or "--limit" not in play.output:
            yield f"all boxes without --limit: exit {play.code}"
        with self.traffic():
            for words, state in (((), "draining"), (("-e", "longhaul_resume=true"), "running")):
                play = self.ansible("drain", "--limit", "near", *words)
                status = self.path.box("near", "status", "--json")
                if play.code or status["state"] != state or (state == "draining" and status["custody"]["packets"]):
                    yield f"exit {play.code}, {status['state']}, {status['custody']}"
            if self.path.box("far", "status", "--json")["state"] != "running":
                yield "far drains, too"

    def a_drain_that_does_not_end(self):
        """The far end is gone: custody cannot empty. The box is resumed, and keeps what it has."""
        before, acknowledged = self.pids(), self.pseudo_acks()
        transfer = self.session.begin(TRAFFIC["write-cm-ipv4"], 20000)
        wait_until(lambda: self.pseudo_acks() > acknowledged + 500, 60, "the transfer")
        self.path.cut()
        try:
            wait_until(lambda: self.path.box("near", "status", "--json")["custody"]["packets"] > 0, 30, "custody")
            play = self.ansible("drain", "--limit", "near", "-e", "longhaul_drain_timeout=3")
            status = self.path.box("near", "status", "--json")
        finally:
            self.path.mend()
        if play.code == 0 or "does not drain" not in play.output:
            yield f"exit {play.code}: {play.output[-2000:]}"
        if status["state"] != "running" or self.pids() != before:
            yield f"near is {status['state']}"
        outcome = transfer.finish()
        if not outcome.complete:
            yield f"the transfer across the cut: {outcome}"

    # ---- upgrade ----------------------------------------------------------------------------------

    def refused(self, file, why, running=None):
        """An upgrade that must end at near, with near as it was but for its process, and far untouched."""
        before = self.pids()
        self.ansible.common["longhaul_package_file"] = str(self.debs[file]) if file in self.debs else ""
        with self.traffic():
            play = self.ansible("upgrade")
        running = running or self.old
        if play.code == 0 or not play.recap["near"].failed or why not in play.output:
            yield f"exit {play.code}: {play.output[-4000:]}"
        for name in BOXES:
            if (self.version(name), self.installed(name)) != (running, running):
                yield f"{name} runs {self.version(name)}, installed is {self.installed(name)}"
        if self.pid("far") != before["far"] or play.recap.get("far") and play.recap["far"].changed:
            yield f"far was touched: {play.recap}"
        yield from self.lost_nothing(since=before)

    def a_package_that_takes_no_configuration_is_refused(self):
        """Seen before the drain: the process goes on."""
        before = self.pids()
        yield from self.refused("unable", "takes no configuration")
        if self.pids() != before:
            yield "near was restarted"

    def a_package_that_does_not_start_is_taken_back(self):
        """From the file that is kept of the version before."""
        yield from self.refused("dead", "this build does not start")

    def upgrade_one_by_one(self):
        """To a really different version, from a signed apt source, under traffic."""
        before, changelog = self.pids(), "/var/tmp/commands"
        self.ansible.common.update(
            longhaul_package_file="", longhaul_version=NEW, longhaul_apt_key=str(self.directory / "apt/longhaul.asc"),
            longhaul_apt_source=f"deb [signed-by=/etc/apt/keyrings/longhaul.asc] http://{ADDRESS[MANAGER]}:{WEB_PORT} ./",
            longhaul_before_stop=[
                ["sh", "-c", f"longhaul ctl status | grep -q 'custody is empty' && echo before >> {changelog}"]],
            longhaul_after_start=[["sh", "-c", f"longhaul --version >> {changelog}"]])
        with self.traffic():
            self.ansible("upgrade").well()
            for name in BOXES:
                if self.path.snapshot(name)["connections_learned"] == 0:
                    yield f"{name} has learned nothing"
        for name in BOXES:
            if (self.version(name), self.installed(name)) != (NEW, NEW):
                yield f"{name} runs {self.version(name)}, installed is {self.installed(name)}"
            if self.machine(name).said("cat", changelog).split() != ["before", NEW]:
                yield f"{name}: the commands around the restart: {self.machine(name).said('cat', changelog)}"
        yield from self.lost_nothing(since=before)
        stops, starts = ([float(re.findall(pattern, self.journal(name))[-1]) for name in BOXES] for pattern in (
            r"(?m)^([0-9.]+) .*: Stopping longhaul@", r"(?m)^([0-9.]+) .*: Started longhaul@"))
        print(f"       near was away for {starts[0] - stops[0]:.1f} s, far {stops[1] - starts[0]:.1f} s later for "
              f"{starts[1] - stops[1]:.1f} s; learned from traffic: "
              f"{', '.join(str(self.path.snapshot(name)['connections_from_traffic']) for name in BOXES)}")
        if stops[1] < starts[0]:
            yield "far was stopped before near had started"
        play = self.ansible("upgrade").well()
        if any(play.changed().values()):
            yield f"a second upgrade changed something: {play.changed()}"

    def back_by_the_apt_source(self):
        """There is no file of the version before: the apt source has it."""
        self.ansible.common["longhaul_version"] = DEAD_LATER
        yield from self.refused("none", "this build does not start", running=NEW)
        self.ansible.common["longhaul_version"] = NEW

    def not_begun_when_a_box_is_not_well(self):
        """near drains; then it is not there at all: in either case nobody is touched."""
        before = self.pids()
        self.ansible.common["longhaul_version"] = self.old
        self.ansible("drain", "--limit", "near")
        play = self.ansible("upgrade")
        if play.code == 0 or "near is draining" not in play.output or any(play.changed().values()):
            yield f"near drains: exit {play.code}, {play.recap}\n{play.output[-2000:]}"
        self.machine("near").shut_down()
        play = self.ansible("upgrade")
        if play.code == 0 or not play.recap["near"].unreachable or play.recap.get("far") and play.recap["far"].changed:
            yield f"near is off: exit {play.code}, {play.recap}\n{play.output[-2000:]}"
        if self.pid("far") != before["far"] or self.installed("far") != NEW:
            yield "far was touched"

    def a_box_boots(self):
        """After the machine was switched off: systemd starts the box, its configuration and version are those it had."""
        self.machine("near").boot()
        wait_until(lambda: self.active("near"), 60, "near to be active")
        if (self.version("near"), self.value("near", "connections")) != (NEW, "2048"):
            yield f"near runs {self.version('near')}"
        outcome = self.session.transfer(TRAFFIC["rping-cm-ipv4"], 20)
        if not outcome.complete or self.pseudo_acks() == 0:
            yield f"a transfer: {outcome}, {self.pseudo_acks()} pseudo-ACKs"
