# SPDX-License-Identifier: BSD-3-Clause
"""`longhaul plan simulate` with losses: boxes that do not talk, and boxes that are peers."""
from plan_program import close, expect

LOSSY = ("simulate", "--distance", "300km", "--message", "4KiB", "--loss", "1e-3")
LINE = 100e9 * 4096 / (4096 + 82)  # headers, CRCs, preamble and gap of a WRITE Only


def by_way(answer):
    return {row["way"]: row for row in answer["rows"]}


def with_losses(plan):
    """with losses all four ways are the default, and only the pair carries the line"""
    ways = by_way(plan.json(*LOSSY))
    expect(set(ways) == {"standard", "deep queues", "boxes alone", "pair"}, f"ways: {set(ways)}")
    expect(all(row["lost"] > 0 for row in ways.values()), f"nothing was lost: {ways}")
    expect(ways["pair"]["bits_per_second"] >= 0.97 * (1 - 1e-3) * LINE, f"the pair: {ways['pair']}")
    # Many losses a round trip: the standard deviation of the formula's losses is small.
    formula = plan.json("buffer", *LOSSY[1:3], "--loss", "1e-3")["connection_bits_per_second"]
    close("boxes alone against `plan buffer`", ways["boxes alone"]["bits_per_second"], formula, 0.35)
    expect(ways["pair"]["resends"] < 2 * ways["pair"]["lost"], f"the pair sends more than what was lost: {ways['pair']}")
    expect("box_a.peer=1" in ways["pair"]["world"] and "peer=" not in ways["boxes alone"]["world"], "the worlds")


def without_losses(plan):
    """without losses boxes alone are not asked for, and are as a pair"""
    asked = ("simulate", "--distance", "300km", "--message", "4KiB", "--messages", "20000")
    expect(set(by_way(plan.json(*asked))) == {"standard", "deep queues", "pair"}, "the default ways")
    ways = by_way(plan.json(*asked, "--ways", "alone", "pair"))
    close("a pair without losses", ways["pair"]["bits_per_second"], ways["boxes alone"]["bits_per_second"], 0.001)


def several_workers(plan):
    """boxes of several workers repair as those of one"""
    asked = (*LOSSY, "--messages", "20000", "--qps", "4", "--ways", "alone", "pair")
    one = by_way(plan.json(*asked))["pair"]
    ways = by_way(plan.json(*asked, "--workers", "4"))
    close("4 workers against one", ways["pair"]["bits_per_second"], one["bits_per_second"], 0.05)
    expect(ways["pair"]["bits_per_second"] > 1.3 * ways["boxes alone"]["bits_per_second"], f"as boxes alone: {ways}")
    expect(ways["pair"]["resends"] < 2 * ways["pair"]["lost"], f"more goes again than was lost: {ways['pair']}")


CASES = {"simulate-losses": with_losses, "simulate-calm": without_losses, "simulate-workers": several_workers}
