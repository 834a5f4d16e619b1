# SPDX-License-Identifier: BSD-3-Clause
"""Work inside a network namespace, in a thread: the rest of the process stays where it is."""
import concurrent.futures
import ctypes
import os

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _enter(name):
    descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if _libc.setns(descriptor, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {name}")
    finally:
        os.close(descriptor)


class Inside:
    """Threads that live in a namespace (None: where the process is); a context."""

    def __init__(self, name=None, threads=4):
        self._pool = concurrent.futures.ThreadPoolExecutor(
            threads, initializer=_enter if name else None, initargs=(name,) if name else ())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pool.shutdown()

    def submit(self, function, *arguments, **options):
        return self._pool.submit(function, *arguments, **options)

    def do(self, function, *arguments, **options):
        """Runs it there; its result, or what it raised."""
        return self.submit(function, *arguments, **options).result()
