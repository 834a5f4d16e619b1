# SPDX-License-Identifier: BSD-3-Clause
"""What the programs measured, as text and as Markdown."""

LINE_OVERHEAD = 24  # bytes beside a frame without FCS: that, preamble, start delimiter, gap
DEVICES = {'box': 'box', 'floor': 'floor', 'floor-box-icrc': "floor with the box's ICRC", 'floor-backlog': 'floor with backlog', 'macswap': 'macswap', 'mac': 'mac',
           'testpmd-macswap': 'testpmd macswap', 'testpmd-mac': 'testpmd mac'}


def markdown(head, rows, right=()):
    """A table; `right`: the columns of numbers."""
    lines = ['| ' + ' | '.join(head) + ' |',
             '|' + '|'.join('---:' if name in right else '---' for name in head) + '|']
    lines += ['| ' + ' | '.join(str(cell) for cell in row) + ' |' for row in rows]
    return '\n'.join(lines)


def text(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    return '\n'.join('  '.join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in [head, ['-' * width for width in widths], *rows])


# ---- marks

MARKS_HEAD = ['mark', 'wanted', 'reached', 'rounds', 'Mpps', 'Gbit/s', 'cycles', 'line rate', 'met', 'beside it']


def marks_rows(marks):
    rows = []
    for mark in marks:
        box = mark['box']
        spread = f'{min(mark["rounds"]):.2f} - {max(mark["rounds"]):.2f}' if len(mark['rounds']) > 1 else ''
        rows.append([mark['mark'], mark['wanted'], f'{mark["value"]:.2f}', spread, f'{box["mpps"]:.2f}',
                     f'{box["gbps_line"]:.1f}' if 'gbps_line' in box else '',
                     f'{box["cycles_per_packet"]:.0f}' if 'cycles_per_packet' in box else '',
                     f'{box["line_rate_100g_mpps"]:.2f}' if 'line_rate_100g_mpps' in box else '',
                     'yes' if mark['reached'] else 'no', mark['beside']])
    return rows


def marks_markdown(marks):
    """A table, and below it a list of what stands beside each mark: in one table the lines would be too long."""
    rows = marks_rows(marks)
    beside = '\n'.join(f'- {row[0]}: {row[-1]}' for row in rows if row[-1])
    return f'{markdown(MARKS_HEAD[:-1], [row[:-1] for row in rows], right=MARKS_HEAD[2:8])}\n\n{beside}'


def marks_text(marks):
    return text(MARKS_HEAD, marks_rows(marks))


# ---- points of linerate

def custody(point):
    return f'{point["custody_bytes"] / 1e6:.3g} MB' if point['custody_bytes'] else '-'


def points_markdown(points):
    devices = list(dict.fromkeys(name for point in points for name in point['devices']))
    first = devices[0]
    head = ['workload', 'flows', 'custody', 'line rate'] + [DEVICES[name] for name in devices]
    head += [f'{DEVICES[first]} / {DEVICES[name]}' for name in devices[1:]]
    rows = []
    for point in points:
        row = [point['workload'], f'{point["flows"]:,}', custody(point), f'{point["line_rate_100g_mpps"]:.2f}']
        for name in devices:
            figures = point['devices'].get(name)
            row.append(f'{figures["mpps"]:.2f} ({figures["cycles_per_packet"]["median"]:.0f})' if figures else '')
        for name in devices[1:]:
            compared = point['compared'].get(f'{first}/{name}')
            ratios = compared['rate_ratio'] if compared else None
            row.append(f'{ratios["median"]:.2f} ({min(ratios["rounds"]):.2f} - {max(ratios["rounds"]):.2f})' if ratios else '')
        rows.append(row)
    return markdown(head, rows, right=head[1:])


# ---- delays

def delays_markdown(points):
    head = ['workload', 'M/s of highest', 'device', 'which', 'requests', 'p50', 'p90', 'p99', 'p99.9', 'max']
    rows = []
    for point in points:
        load = f'{point["offered_mpps"]["median"]:.2f} of {point["highest_mpps"]["median"]:.2f}'
        for device, figures in point['devices'].items():
            for which in ('all', 'not_preempted', 'undisturbed'):
                quantiles = figures[which + '_ns']
                rows.append([point['workload'], load, DEVICES[device], which.replace('_', ' '), f'{quantiles["samples"]:,}']
                            + [f'{quantiles[name] / 1e3:.2f}' if name in quantiles else ''
                               for name in ('p50', 'p90', 'p99', 'p99_9', 'max')])
    return markdown(head, rows, right=head[4:])


# ---- what the line allows

def limits_markdown(hz):
    """WRITEs of one packet, which has all headers: Ethernet, IPv4, UDP, BTH, RETH, ICRC."""
    head = ['payload', 'frame with FCS', 'on the line', 'Mpps at 100 Gbit/s', 'payload, Gbit/s', f'cycles a packet at {hz / 1e9:.2f} GHz']
    rows = []
    for payload in (64, 256, 512, 1024, 2048, 4096):
        frame = 14 + 20 + 8 + 12 + 16 + payload + 4
        rate = 100e9 / 8 / (frame + LINE_OVERHEAD)
        rows.append([f'{payload:,}', f'{frame + 4:,}', f'{frame + LINE_OVERHEAD:,}', f'{rate / 1e6:.2f}',
                     f'{rate * payload * 8 / 1e9:.1f}', f'{hz / rate:.0f}'])
    return markdown(head, rows, right=head)


def of_document(document):
    """All tables of a JSON file of run's, in Markdown."""
    if 'marks' in document:
        tables = [marks_markdown(document['marks'])]
        for measurement in document['measurements'].values():
            tables.append(of_document(measurement))
        tables.append(limits_markdown(document['machine']['tsc_hz']))
        return '\n\n'.join(tables)
    if 'load' in document['points'][0]:
        return delays_markdown(document['points'])
    return points_markdown(document['points'])
