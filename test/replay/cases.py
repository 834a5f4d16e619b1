# SPDX-License-Identifier: BSD-3-Clause
"""The replay cases: which capture, seen from where, and what the goldens alone would not show to be right.

near        prefixes of the hosts on the box's own side
ends_early  why the capture does not hold every connection's DREQ and DREP ("" when it does)
unmatched   reasons (beginnings) that may be given for a real ACK without a pseudo-ACK, each explained by a loss (none is
            needed: also in the captures with loss every real ACK has its pseudo-ACK)
passive     nothing in the capture may be accelerated
eligible    smallest share of the eligible requests that must have been pseudo-acknowledged
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    capture: str
    near: tuple
    ends_early: str = ""
    unmatched: tuple = ()
    passive: bool = False
    eligible: float = 0.95

    @property
    def name(self):
        return f"{self.capture}.{self.near[0].split('/')[0].replace(':', '_')}"


def both(capture, addresses=("10.9.0.1/32", "10.9.0.2/32"), **expected):
    """The case from either side: the server's (the first address) and the client's."""
    return [Case(capture, (address,), **expected) for address in addresses]


OVER_TCP = "set up over TCP: no DREQ tells its end"

CASES = [
    *both("write_bw_r_4k"),
    *both("write_lat_r"),
    *both("write_bw_r_q4"),
    *both("write_bw_r_bidir"),
    *both("send_bw_r_mtu1024"),
    *both("send_rnr"),
    *both("read_bw_r", ends_early="no DREQ in the capture"),
    *both("atomic_fa_r"),
    Case("write_bw_tcpexchange", ("10.9.0.1/32",), ends_early=OVER_TCP, passive=True),  # no requests from that side
    Case("write_bw_tcpexchange", ("10.9.0.2/32",), ends_early=OVER_TCP),
    *both("write_bw_uc", passive=True),
    *both("send_bw_ud", passive=True),
    *both("rping_v4"),
    *both("rping_v6", ("fd00::1/128", "fd00::2/128")),
    *both("cm_reject", passive=True),
    *both("nvmeof_fio"),
    Case("write_bw_r_loss", ("10.9.0.1/32",)),
    # Its requester repeats what a pseudo-ACK would have ended, with other payload (frames 35, 38): each time nothing is
    # acknowledged until the responder has answered.
    Case("write_bw_r_loss", ("10.9.0.2/32",), eligible=0.75),
    *both("read_bw_r_loss"),
]
