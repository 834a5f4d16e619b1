# SPDX-License-Identifier: BSD-3-Clause
"""Processes that end when the harness ends, however it ends."""
import ctypes
import os
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """What the laboratory could not do, in words for the person who runs it."""


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def spawn(argv, namespace=None, **options):
    """Starts argv in a session of its own, inside a network namespace if one is given."""
    if namespace:
        argv = ["ip", "netns", "exec", namespace] + argv  # replaces itself by argv: the pid is argv's
    return subprocess.Popen([str(word) for word in argv], start_new_session=True, preexec_fn=_die_with_parent,
                            stdin=options.pop("stdin", subprocess.DEVNULL), **options)


def stop(process, grace=5.0, sig=signal.SIGTERM):
    """Ends a process that spawn() started: a signal, `grace` seconds, then no more asking. Returns its exit code."""
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
    # Its own children as well: the session was made for it.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.wait()


def run(*argv, check=True, timeout=60):
    """A short command on the machine; its standard output. Raises LabError with what it said when it fails."""
    try:
        done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(str(error)) from error
    if check and done.returncode:
        raise LabError(f"{' '.join(map(str, argv))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def wait_until(condition, timeout, what, step=0.02):
    """Polls condition() until it is true; its value. LabError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {timeout:g} s")
        time.sleep(step)
