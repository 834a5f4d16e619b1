# SPDX-License-Identifier: BSD-3-Clause
"""What a box shows of itself, judged by the programs that an operator has: Prometheus, promtool, a browser."""
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import pathlib
import re
import socket
import subprocess
import threading
import time

import browser
import dashboard
from bench import PATIENCE, Skip, expect
from ctl import Ctl
from lab.laboratory import Laboratory
from lab.path import Conditions
from lab.process import LabError, run, wait_until
from lab.tools import REPOSITORY, kernel, missing
from lab.traffic import TRAFFIC
from metrics_box import Box, get
from namespace import Inside
from prometheus import CONFIG, Server, parse_series, promtool

HERE = pathlib.Path(__file__).resolve().parent
CASES = {}


def case(function):
    """Adds a function to the table."""
    CASES["metrics-" + function.__name__.replace("_", "-")] = function
    return function


@case
def rules(bench):
    """promtool accepts the rules and the configuration, and every alert has a unit test and a section in the runbook."""
    for words in (("check", "rules", CONFIG / "rules.yml"), ("check", "config", CONFIG / "prometheus.yml"),
                  ("test", "rules", HERE / "rules_test.yml")):
        code, said = promtool(*words)
        expect(code == 0, f"promtool {words[0]} {words[1]}: {said}")
    text = (CONFIG / "rules.yml").read_text(encoding="ascii")
    alerts = re.findall(r"- alert: (\w+)", text)
    tested = set(re.findall(r"alertname: (\w+)\n", (HERE / "rules_test.yml").read_text(encoding="ascii")))
    expect(set(alerts) <= tested, f"no test lets these fire: {set(alerts) - tested}")
    runbook = (REPOSITORY / "docs" / "operate" / "runbook.md").read_text(encoding="utf-8")
    for alert in alerts:
        expect(f"\n## {alert}\n" in runbook, f"docs/operate/runbook.md has no section {alert}")
        expect(re.search(rf"runbook_url: '{{{{ .*/operate/runbook\.md\" }}}}#{alert.lower()}'\n", text),
               f"{alert} does not link to its section")


@case
def http_answers(bench):
    """The right page for each path, on IPv4 and IPv6; errors for all else; promtool likes the metrics."""
    for address in ("127.0.0.1", "::1"):
        with Box(bench.program, bench.directory / f"box-{len(address)}", address) as box:
            status, headers, text = get(box.host, box.port, "/metrics")
            expect(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"{headers}")
            expect(len(parse_series(text)) > 150, f"only {len(parse_series(text))} series")
            code, said = promtool("check", "metrics", stdin=text)
            expect(code == 0 and not said.strip(), f"promtool check metrics: {said}")
            state = json.loads(get(box.host, box.port, "/status.json")[2])
            expect(state["name"] == "alone" and state["state"] == "running", f"{state}")
            expect("<script>" in get(box.host, box.port, "/")[2], "no status page")
            expect(get(box.host, box.port, "/healthz")[::2] == (200, "running\n"), "healthz")
            status, headers, text = get(box.host, box.port, "/metrics", method="HEAD")
            expect(status == 200 and not text and int(headers["Content-Length"]) > 10000, f"HEAD: {headers}")
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                status, headers, _ = get(box.host, box.port, "/metrics", method=method)
                expect(status == 405 and headers["Allow"] == "GET, HEAD", f"{method}: {status}")
            for path in ("/nothing", "/metrics/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/metrics%00x"):
                status = get(box.host, box.port, path)[0]
                expect(status in (400, 404), f"{path}: {status}")


@case
def http_address_taken(bench):
    """An address that somebody has: the configuration's line, and exit code 2."""
    with Box(bench.program, bench.directory / "first") as first:
        second = subprocess.run([bench.program, "run", "--config", first.config], capture_output=True, text=True,
                                check=False, timeout=PATIENCE)
        expect(second.returncode == 2, f"exit code {second.returncode}: {second.stderr}")
        expect(re.search(r"box\.yaml:9:\d+: metrics\.listen: .*(in use|bind)", second.stderr), second.stderr)


@case
def http_hostile(bench):
    """Connections that say nothing, half a request, too much or rubbish: others get their answer, the box lives."""
    with Box(bench.program, bench.directory / "box") as box:
        with contextlib.ExitStack() as stack:
            done = threading.Event()
            # More than there may be at once, and some that say a little every moment.
            clients = [stack.enter_context(socket.create_connection((box.host, box.port), timeout=PATIENCE))
                       for _ in range(200)]
            for client, opening in zip(clients, itertools.cycle((b"", b"GET /metrics HT", b"GET / HTTP/1.1\r\nX: y"))):
                client.sendall(opening)

            def drip():
                while not done.wait(0.3):
                    for client in clients:
                        with contextlib.suppress(OSError):
                            client.sendall(b"z")
            dripping = threading.Thread(target=drip)
            dripping.start()
            stack.callback(dripping.join)
            stack.callback(done.set)
            expect(get(box.host, box.port, "/metrics", timeout=PATIENCE)[0] == 200, "no answer beside slow clients")
        for rubbish in (b"\x00" * 10000, b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n", b"\r\n" * 5000,
                        b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n", bytes(range(256)) * 100,
                        b"GET /metrics HTTP/9.9\r\nContent-Length: -1\r\n\r\n",
                        b"POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            with socket.create_connection((box.host, box.port), timeout=PATIENCE) as client:
                with contextlib.suppress(OSError):
                    client.sendall(rubbish)
                    client.shutdown(socket.SHUT_WR)
                    answer = client.recv(1000)
                    expect(not answer.startswith(b"HTTP/1.1 200") or b"9.9" in rubbish, f"{rubbish[:30]}: {answer}")
        expect(get(box.host, box.port, "/healthz")[0] == 200, "no answer after rubbish")
        expect(box.process.poll() is None, "the box ended")


def storm(host, port, seconds, per_second):
    """Requests of many clients; how many of them were answered by 200."""
    clients = 20
    end = time.monotonic() + seconds

    def client(number):
        answered = 0
        next_at = time.monotonic() + number / per_second
        while next_at < end:
            time.sleep(max(0, next_at - time.monotonic()))
            next_at += clients / per_second
            with contextlib.suppress(OSError, http.client.HTTPException):
                answered += get(host, port, "/metrics" if number % 4 else "/status.json")[0] == 200
        return answered
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(client, range(clients)))


LISTEN = "0.0.0.0:9464"
BOXES = {"near": "192.0.2.1", "far": "192.0.2.5"}  # on a network of their own, RFC 5737
WATCH = "watch"  # the role of the namespace from which they are looked at


def connect_management(network):
    """A cable from each box to the namespace that watches them."""
    for role, address in BOXES.items():
        network.cable((role, "mgmt0"), (WATCH, f"to-{role}"))
        first, _, last = address.rpartition(".")
        run("ip", "-n", network.namespace(role), "addr", "add", f"{address}/30", "dev", "mgmt0")
        run("ip", "-n", network.namespace(WATCH), "addr", "add", f"{first}.{int(last) + 1}/30", "dev", f"to-{role}")


class Pair:
    """Two boxes under traffic, and the Prometheus that scrapes them."""

    def __init__(self, bench, session, inside, prometheus):
        self.session, self.inside, self.prometheus = session, inside, prometheus
        self.series_of = json.loads(subprocess.run([bench.program, "metrics", "--json"], capture_output=True, text=True,
                                                   check=True).stdout)

    def instance(self, name):
        return f'instance="{BOXES[name]}:9464"'

    def get(self, name, path):
        return self.inside.do(get, BOXES[name], 9464, path)

    def wait_scraped(self):
        """Until both boxes have been scraped after now, with a word of all their workers."""
        scraped = f"count(timestamp(longhaul_bypass) > {time.time()}) and min(longhaul_worker_alive) == 1"
        wait_until(lambda: self.prometheus.value(scraped) == len(BOXES), PATIENCE, "a scrape of both boxes", step=0.2)

    def counters(self, name):
        """Every counter as Prometheus has it, by the name that it has in --stats."""
        rows = self.query(f'{{__name__=~"longhaul_.*_total", {self.instance(name)}}}')
        own = ("instance", "job", "site", "pair", "__name__")
        found = {}
        for labels, value in rows:
            more = [f'{key}="{text}"' for key, text in labels.items() if key not in own]
            found[labels["__name__"] + (f"{{{','.join(more)}}}" if more else "")] = value
        return found

    def query(self, expression):
        """What Prometheus answers. A scrape that took too long left a hole, which the next one fills."""
        return wait_until(lambda: self.prometheus.query(expression), PATIENCE, f"no answer to {expression}", step=0.2)

    def value(self, expression):
        """The value of the one series that the expression yields."""
        rows = self.query(expression)
        expect(len(rows) == 1, f"{expression}: {len(rows)} series instead of one")
        return rows[0][1]

    def differences(self, name):
        """Where Prometheus and the box's own totals do not agree."""
        before = self.session.path.snapshot(name)
        self.wait_scraped()
        seen, after = self.counters(name), self.session.path.snapshot(name)
        wrong = []
        for row in self.series_of:
            wanted = [(box[row["counter"]] - box.get(row.get("less"), 0)) * row["unit"] for box in (before, after)]
            value = seen.get(row["series"])
            # Exactly, unless a frame came meanwhile.
            if value is None or not wanted[0] * (1 - 1e-9) <= value <= wanted[1] * (1 + 1e-9):
                wrong.append(f"{row['series']} is {value}, {row['counter']} went from {wanted[0]} to {wanted[1]}")
        for side in ("host", "wan"):
            for series, key in ((f'frames_total{{direction="receive",port="{side}"}}', "ipackets"),
                                (f'frames_total{{direction="transmit",port="{side}"}}', "opackets"),
                                (f'bytes_total{{direction="receive",port="{side}"}}', "ibytes"),
                                (f'bytes_total{{direction="transmit",port="{side}"}}', "obytes")):
                value = seen.get("longhaul_port_" + series)
                if value is None or not before[f"port_{side}_{key}"] <= value <= after[f"port_{side}_{key}"]:
                    wrong.append(f"{series} is {value}, not {before[f'port_{side}_{key}']}")
        return wrong

    def counted(self, tool, count):
        """New requests that the near box counts for a perftest of `count` messages, by PromQL; a packet each."""
        expression = f'longhaul_requests_total{{{self.instance("near")}}}'
        for _ in range(5):
            self.wait_scraped()
            before = self.value(expression)
            self.session.perftest(tool, 4096, count, depth=16)
            self.wait_scraped()
            # A refused connection has requests of its own.
            if not self.session.steps[-1]["refused"]:
                return self.value(expression) - before
        raise LabError(f"{tool}: perftest was refused five times")


def check_agreement(pair):
    """Prometheus' values are the boxes' own, and perftest's count is in them."""
    few, many = pair.counted("ib_write_bw", 500), pair.counted("ib_write_bw", 2500)
    expect(many - few == 2000, f"2000 more messages of perftest are {many - few} more requests ({few}, {many})")
    few, many = pair.counted("ib_send_bw", 300), pair.counted("ib_send_bw", 1000)
    expect(many - few == 700, f"700 more messages of perftest are {many - few} more requests ({few}, {many})")
    pair.session.perftest("ib_read_bw", 65536, 50, depth=2)
    # Long enough for several surveys: what pairs of hosts sent is what those saw.
    spent = 0
    while spent < 5:
        pair.session.perftest("ib_write_bw", 4096, 10000, depth=16)
        spent += pair.session.steps[-1]["seconds"]
    for name in BOXES:
        wrong = pair.differences(name)
        expect(not wrong, f"{name}: " + "; ".join(wrong))
    near = pair.instance("near")
    delay = pair.value(f"histogram_quantile(0.5, longhaul_wan_round_trip_seconds_bucket{{{near}}})")
    expect(delay >= 0.001, f"a median round trip of {delay} s over 100 km")
    acks = pair.value(f"longhaul_pseudo_acks_total{{{near}}}")
    timed = pair.value(f"longhaul_pseudo_ack_delay_seconds_count{{{near}}}")
    expect(0 < timed <= acks, f"the delays of {timed} of {acks} pseudo-ACKs")
    pair.value(f"longhaul_read_stall_seconds_total{{{near}}}")  # it is there
    wait_until(lambda: pair.value("sum(longhaul_peer_up)") == 2, PATIENCE, "both boxes to be up for each other", step=0.2)
    least = pair.value(f"longhaul_peer_round_trip_seconds{{{near}}}")
    expect(least >= 0.001, f"a round trip of {least} s between boxes over 100 km")
    expect(pair.value(f"longhaul_unconfirmed_bytes{{{near}}}") == 0, "unconfirmed bytes of a pair at rest")
    taken = pair.query(f"longhaul_pair_taken_bytes_total{{{near}}}")
    expect(any(labels["host"] == pair.session.client.ip and labels["remote"] == pair.session.server.ip and value > 0
               for labels, value in taken), f"no bytes of the two hosts: {taken}")


def check_rules_live(pair):
    """The recording rules yield what they should, no alert fires, and the scrape is no larger than it may be."""
    wait_until(lambda: pair.value("fleet:longhaul_boxes_up:sum") == 2, PATIENCE, "both boxes in the fleet's sum", step=0.2)
    for name in re.findall(r"- record: (\S+)", (CONFIG / "rules.yml").read_text(encoding="ascii")):
        pair.query(name)
    alerts = [labels["alertname"] for labels, _ in pair.prometheus.query('ALERTS{alertstate="firing"}')]
    expect(not alerts, f"alerts of a healthy pair: {alerts}")
    for labels, value in pair.query("scrape_samples_scraped > 0"):
        expect(200 < value < 600, f"{labels['instance']}: {value} samples in a scrape")


def check_not_accelerated(pair, ctl):
    """While a box drains, perftest's requests count as not accelerated for that reason, for their pair of hosts."""
    hosts = f'host="{pair.session.client.ip}",remote="{pair.session.server.ip}",{pair.instance("near")}'
    plain = f'sum(longhaul_pair_not_accelerated_requests_total{{{hosts}}})'
    count = 20000
    pair.wait_scraped()
    before = sum(value for _, value in pair.prometheus.query(plain))
    ctl("drain", "--timeout", "60s")
    pair.session.perftest("ib_write_bw", 4096, count, depth=16)
    ctl("resume")
    # What a connection sends between the last survey and its end is not in it.
    wait_until(lambda: pair.value(plain) - before > count / 4, PATIENCE, "requests not accelerated while draining", step=0.2)
    expect(pair.value(plain) - before < 1.2 * count, f"{pair.value(plain) - before} of {count} were not accelerated")
    draining = pair.value(f'longhaul_pair_not_accelerated_requests_total{{{hosts},reason="draining"}}')
    expect(draining > count / 4, f"only {draining} because the box drains")


def check_storm(pair):
    """200 requests/s while perftest runs: perftest loses nothing, and all requests are answered."""
    seconds, per_second = 5, 200
    storms = [pair.inside.submit(storm, BOXES["near"], 9464, seconds, per_second)]
    acks = pair.session.path.snapshot("near")["pseudo_acks"]
    pair.session.perftest("ib_write_bw", 4096, 5000, depth=16)
    answered = storms[0].result()
    near = pair.session.path.snapshot("near")
    expect(near["pseudo_acks"] - acks >= 5000 * 0.9, f"{near['pseudo_acks'] - acks} pseudo-ACKs for 5000 requests")
    expect(near["flows_failed"] == 0, "a flow failed")
    # How many a busy machine manages is no matter of right and wrong; that it goes on is.
    expect(answered > per_second, f"{answered} of {seconds * per_second} requests answered")
    return f"{answered} of {seconds * per_second} requests answered"


@case
def pair(bench):
    """Real RDMA hosts through two boxes: Prometheus' numbers against the boxes' and perftest's, the dashboard's
    queries, recording rules, a storm of requests, the status page in a browser."""
    reason = missing(bench.program, "boxes")
    if reason:
        raise Skip(reason)
    laboratory = Laboratory(kernel(), bench.program, bench.directory / "lab", "boxes", False, bench.say)
    with contextlib.ExitStack() as stack:
        stack.enter_context(laboratory)
        connect_management(laboratory.network)
        namespace = laboratory.network.namespace(WATCH)
        inside = stack.enter_context(Inside(namespace, threads=8))
        session = stack.enter_context(laboratory.session(
            Conditions(distance="100km", policy="full", metrics=LISTEN, control=True, peers=True)))
        targets = {f"{address}:9464": {"site": name, "pair": "lab"} for name, address in BOXES.items()}
        prometheus = stack.enter_context(Server(inside, namespace, bench.directory / "prometheus", targets))
        both = Pair(bench, session, inside, prometheus)
        wait_until(lambda: prometheus.value('sum(up{job="longhaul"})') == 2, PATIENCE, "both boxes to be scraped", step=0.2)
        for name in BOXES:
            code, said = promtool("check", "metrics", stdin=both.get(name, "/metrics")[2])
            expect(code == 0 and not said.strip(), f"{name}: promtool check metrics: {said}")
        check_agreement(both)
        bench.say("counters agree")
        check_rules_live(both)
        check_not_accelerated(both, Ctl(bench.program, session.path.socket("near")))
        bench.say(check_storm(both))
        dashboard.check_queries(prometheus, "lab", bench.say)
        if browser.program():
            # A connection that lasts for as long as the browser takes, whatever machine this is.
            under_way = session.begin(TRAFFIC["rping-cm-ipv4"], 10_000_000, timeout=900)
            wait_until(lambda: json.loads(both.get("near", "/status.json")[2])["pairs"], PATIENCE,
                       "the connection in a survey")
            browser.check_status_page(f"http://{BOXES['near']}:9464/", namespace, bench.directory, bench.say,
                                      also=(session.client.ip, session.server.ip))
            expect(under_way.running, "the transfer beside the browser ended")
            under_way.kill()
        else:
            bench.say("no browser: tools/setup --browser")


@case
def dashboard_is_whole(bench):
    """The dashboard's panels have a place, a query and a unit each, and name only metrics that exist."""
    dashboard.check_form(bench.program)


@case
def status_page(bench):
    """The status page of a box at rest, in a headless browser (tools/setup --browser)."""
    if not browser.program():
        raise Skip("no chromium-headless-shell (tools/setup --browser)")
    with Box(bench.program, bench.directory / "box") as box:
        time.sleep(3.5)  # a few samples of history
        browser.check_status_page(f"http://{box.listen}/", None, bench.directory, bench.say)
