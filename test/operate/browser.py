# SPDX-License-Identifier: BSD-3-Clause
"""The status page as a browser shows it: headless Chromium, light and dark, on a desk and on a phone, pointed at and
touched."""
import base64
import json
import os
import re
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

from lab.process import LabError, spawn, stop, wait_until

# Titles of the plots, and what stands in a page that has got its data.
SHOWN = ("Host port", "WAN port", "Requests", "Custody", "Round trip on the WAN", "Repair", "Busiest worker",
         "Busiest pairs of hosts", "Unconfirmed", "link up", "all running")


def program():
    """Its path, or None."""
    return shutil.which("chromium-headless-shell")


class Page:
    """A page in headless Chromium, driven through its debugging protocol; a context. What is wrong in the page's console
    is in `errors`."""

    def __init__(self, url, namespace, timeout=300):
        self._url, self._namespace, self._end = url, namespace, time.monotonic() + timeout
        self._number, self._heard, self._events, self._session = 0, b"", [], None
        self.errors = []

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory()
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        words = [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 # Root has no sandbox; the page is our own.
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad",
                 f"--user-data-dir={self._profile.name}", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]
        # It speaks on descriptors 3 and 4.
        self._process = spawn(["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *words],
                              namespace=self._namespace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        try:
            target = self("Target.createTarget", url="about:blank")["targetId"]
            self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self(domain + ".enable")
            self("Page.navigate", url=self._url)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        stop(self._process, grace=1)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def __call__(self, method, **parameters):
        """Asks the browser; its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._next()
            if heard.get("id") == self._number:
                if "error" in heard:
                    raise LabError(f"{method}: {heard['error']}")
                return heard["result"]
            self._note(heard)

    def _next(self):
        while b"\0" not in self._heard:
            left = self._end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise LabError("the browser takes too long")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise LabError("the browser has ended")
            self._heard += data
        message, _, self._heard = self._heard.partition(b"\0")
        return json.loads(message)

    def _note(self, heard):
        kind, what = heard.get("method"), heard.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.errors.append(what["exceptionDetails"]["exception"].get("description", str(what)))
        elif kind == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled":
            self.errors.append(str(what["args"]))

    def value(self, expression):
        """Of an expression of JavaScript."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise LabError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def look(self, width, dark, touch=False):
        """As on a screen of this width in CSS pixels."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=touch)
        self("Emulation.setTouchEmulationEnabled", enabled=touch)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def move_to(self, x, y):
        """The mouse, in CSS pixels."""
        self("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def tap(self, x, y):
        """A finger, down and up again."""
        self("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key):
        """A key."""
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, file):
        """The whole page, as a PNG."""
        shot = self("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))


def png_colours(data):
    """Different bytes in the decoded rows of a PNG: a page that shows nothing has few."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise LabError("no PNG")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(packed)))


# Of the plot under a title: where its middle is, what its legend says, and how many moments it marks.
PLOT = """(title => {
  const card = [...document.querySelectorAll("#plots .card")].find((one) => one.querySelector("h2").textContent === title);
  card.scrollIntoView({block: "center"});
  const box = card.querySelector("svg").getBoundingClientRect();
  return {x: box.left + box.width * 0.7, y: box.top + box.height / 2, legend: card.querySelector(".key").textContent,
          text: card.querySelector("svg").textContent, moments: document.querySelectorAll("#plots .moment").length,
          plots: document.querySelectorAll("#plots svg").length};
})"""


def check_pointed(page, touch):
    """Mouse or finger above a plot: all plots show the values of that moment, until it is taken away."""
    def plot():
        return page.value(f'{PLOT}("Busiest worker")')

    def pointed(wanted, what):
        wait_until(lambda: plot()["moments"] == (plot()["plots"] if wanted else 0), 30, what, step=0.1)
    point = page.tap if touch else page.move_to
    point(5, 5)  # an earlier look may have left the pointer above a plot
    pointed(False, "a page that nobody points at")
    at = plot()
    point(at["x"], at["y"])
    pointed(True, "marks in all plots")
    if not re.search(r"\d s ago", plot()["text"]) or not re.search(r"busy \d", plot()["legend"]):
        raise LabError(f"no moment or no value: {plot()}")
    point(5, 5)
    pointed(False, "the values of now again")


def check_keys(page):
    """The arrow keys walk through the moments."""
    page.value('document.getElementById("plots").focus()')
    seen = []
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Escape"):
        page.press(key)
        seen.append(page.value("pointed"))
    if not (seen[1] < seen[0] <= 1 and seen[2] == seen[0] and seen[3] is None):
        raise LabError(f"the arrow keys lead to {seen}")


def check_status_page(url, namespace, directory, say, also=()):
    """Its text has what it should and `also`, no error is in the console, it fits phones, what is drawn is not blank, and
    its plots tell values to those who point at them."""
    with Page(url, namespace) as page:
        page.look(1280, dark=False)
        wait_until(lambda: page.value('document.querySelectorAll("#plots path").length > 3'), 60, "the page to be drawn",
                   step=0.2)
        for one in (*SHOWN, *also):
            wait_until(lambda one=one: one in page.value("document.body.innerText"), 60, f"{one} on the page", step=0.2)
        state = page.value('document.getElementById("state").className')
        if state != "running":
            raise LabError(f"the state on the page is {state}")
        text = page.value("document.documentElement.outerHTML")
        lines = set(re.findall(r'data-column="(\w+)"', text))
        if not {"host_receive_bits", "custody_bytes", "resends", "busy"} <= lines:
            raise LabError(f"only these lines are drawn: {lines}")
        check_pointed(page, touch=False)
        check_keys(page)
        for name, width, dark, touch in (("light", 1280, False, False), ("dark", 1280, True, False),
                                         ("phone", 360, False, True)):
            page.look(width, dark, touch)
            if touch:
                check_pointed(page, touch)
            needed = page.value("document.documentElement.scrollWidth")
            if needed > width:
                raise LabError(f"the page is {needed} pixels wide on a screen of {width}")
            at = page.value(f'{PLOT}("Custody")')
            (page.tap if touch else page.move_to)(at["x"], at["y"])
            shot = directory / f"status-{name}.png"
            page.picture(shot)
            if png_colours(shot.read_bytes()) < 40:
                raise LabError(f"{shot} is blank")
        if page.errors:
            raise LabError("the page's console: " + "; ".join(page.errors))
        say(f"status page drawn: {directory}/status-light.png, status-dark.png, status-phone.png")
