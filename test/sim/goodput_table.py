#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs build/test/sim/goodput over round trips, losses and ways, and writes the table of docs/records/goodput-*.md.

Virtual time: the figures are the same on every machine, but for 1 % that the order of equal times may make. --quick runs
round trips of 1 and 5 ms only (minutes); all of them take hours.
"""
import argparse
import concurrent.futures
import datetime
import json
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / 'build/test/sim/goodput'
RATE = 100_000  # Mbit/s


def runs(quick):
    """Each run's arguments. The ways of one point stand together."""
    points = []
    for rtt in (1000, 5000) if quick else (1000, 5000, 15000, 30000):
        for qps in (1, 64):
            for loss, burst in ((0, 0), (100, 0), (1000, 0), (10000, 0), (1000, 32)):
                points.append({'rtt': rtt, 'qps': qps, 'message': 4096, 'mtu': 4096, 'loss': loss, 'burst': burst})
        points.append({'rtt': rtt, 'qps': 1, 'message': 1024, 'mtu': 1024, 'loss': 1000, 'burst': 0})
    for point in points:
        bdp = RATE * point['rtt'] / 8 / (point['message'] + 98)
        for way in ('standard', 'alone', 'pair'):
            # What goes back by a whole round trip for each loss takes long, and shows the same sooner.
            rounds = 24 if way == 'pair' else 8
            packets = max(20_000, int(rounds * bdp))
            if way == 'pair' and point['loss'] != 0:
                # A hundred losses, or as many as can be had in minutes.
                packets = max(packets, min(400_000, int(200e6 / point['loss'])))
            if way == 'standard':
                packets = min(packets, 20_000)
            yield {**point, 'way': way, 'packets': packets}
    # Outstanding: 64 x 16 x 512 KiB.
    for rtt in (1000, 5000) if quick else (1000, 5000, 15000, 30000):
        for loss, burst in ((0, 0), (100, 0), (1000, 0), (10000, 0), (1000, 32)):
            for way in ('standard', 'alone', 'pair'):
                packets = max(400_000, int(8 * RATE * rtt / 8 / 4194)) if way == 'pair' else 300_000
                yield {'rtt': rtt, 'qps': 64, 'message': 512 << 10, 'mtu': 4096, 'loss': loss, 'burst': burst,
                       'read': True, 'way': way, 'packets': packets}
    for rtt in (1000, 5000):
        for late in (60, 90, 400):
            yield {'rtt': rtt, 'qps': 1, 'message': 4096, 'mtu': 4096, 'loss': 0, 'burst': 0, 'reorder': late,
                   'way': 'pair', 'packets': int(24 * RATE * rtt / 8 / 4194)}


def run(given):
    words = [str(PROGRAM)]
    for name, value in given.items():
        words += [f'--{name}'] if value is True else [f'--{name}', str(value)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return {**given, 'failed': (done.stderr.strip().splitlines() or ['no output'])[0]}
    return {**given, **json.loads(done.stdout)}


def loss_text(row):
    if row.get('reorder'):
        return f'none; 1 % late by {row["reorder"]} us'
    text = '0' if row['loss'] == 0 else f'{row["loss"] / 1e6:.0e}'.replace('e-0', 'e-')
    return text + (f' in bursts of up to {row["burst"]}' if row['burst'] else '')


def misses(row):
    """The bars of a pair that the row does not reach."""
    p = row['loss'] / 1e6
    out = []
    bar = (0.93 if p >= 0.01 else 0.97) * (1 - p)
    if row['of_line_steady'] < bar:
        out.append(f'goodput {row["of_line_steady"]:.3f} < {bar:.3f}')
    limit = 1.6 * row['rtt'] + 300
    delay = row['p97_us' if p >= 0.01 else 'p99_us']
    if not row['burst'] and delay > limit:
        out.append(f'delay {delay:.0f} > {limit:.0f} us')
    if row['near_bdp'] > 2.25:
        out.append(f'near custody {row["near_bdp"]:.2f} > 2.25')
    if row['far_bdp'] > 1.25:
        out.append(f'far copies {row["far_bdp"]:.2f} > 1.25')
    packets = RATE * row['rtt'] / 8 / (min(row['message'], row['mtu']) + 98)
    lost = row['lost_requests']
    few = p * p * packets < 0.01
    if lost >= 20 and row['sent_again'] > (1.2 if few else 3.2) * lost:
        out.append(f'sent again {row["sent_again"]} > {1.2 if few else 3.2} x {lost} lost')
    if row.get('reorder') and row['sent_again'] > row['sent'] / 1000:
        out.append(f'sent again {row["sent_again"]} > 0.1 % of {row["sent"]}')
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true', help='round trips of 1 and 5 ms only')
    parser.add_argument('--jobs', type=int, default=2, help='runs side by side (default 2)')
    parser.add_argument('--record', type=pathlib.Path, help='write the table to this file, too')
    parser.add_argument('--only', default='', help='runs whose JSON has this text')
    options = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f'{PROGRAM} is not built: ninja -C build test/sim/goodput')
    wanted = [given for given in runs(options.quick) if options.only in json.dumps(given)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = []
        for number, row in enumerate(pool.map(run, wanted), 1):
            rows.append(row)
            print(f'{number} of {len(wanted)}: {json.dumps(row)}', file=sys.stderr)
    lines = ['| round trip | QPs | message | lost | way | of the line | p50 | p97 | p99 | lost | again | near | far |',
             '|---:|---:|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|']
    missed = []
    for row in rows:
        what = f'{row["message"]} B' + (' READ' if row.get('read') else '')
        at = f'| {row["rtt"] / 1000:g} ms | {row["qps"]} | {what} | {loss_text(row)} | {row["way"]} '
        if 'failed' in row:
            lines.append(at + f'| failed: {row["failed"]} ||||||||')
            missed.append(at + f': failed: {row["failed"]}')
            continue
        lines.append(at + f'| {row["of_line_steady"] or row["of_line"]:.3f} | {row["p50_us"]:.0f} | {row["p97_us"]:.0f} | {row["p99_us"]:.0f} '
                     f'| {"-" if row["way"] == "standard" else row["lost_requests"]} | {row["sent_again"]} | {row["near_bdp"]:.2f} | {row["far_bdp"]:.2f} |')
        if row['way'] == 'pair':
            missed += [f'{at.strip("| ")}: {miss}' for miss in misses(row)]
    lines += ['', 'Not reached:', ''] + [f'- {miss}' for miss in missed] if missed else ['', 'Every bar is reached.']
    text = '\n'.join(lines) + '\n'
    print(text)
    if options.record:
        options.record.write_text(
            f'# Goodput of a link that loses packets, {datetime.date.today()}\n\n'
            f'`test/sim/goodput_table.py{" --quick" if options.quick else ""}` on {platform.machine()}: virtual time, the '
            'engine of `longhaul run`, 100 Gbit/s.\n\n' + text)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
