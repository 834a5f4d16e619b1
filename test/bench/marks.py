# SPDX-License-Identifier: BSD-3-Clause
"""The marks a box on one core is held to: which measurements answer them, and what these say.

A mark is a ratio within one run, of each round; absolute figures, which move with the machine, stand beside it.
"""
import statistics

# What is run: name, program, arguments. Devices and points within one take turns.
MEASUREMENTS = [
    ('writes', 'linerate', ['--workload', 'write4096', 'write1024', 'write512', '--devices', 'box', 'floor', 'macswap']),
    ('small', 'linerate', ['--workload', 'write64', '--devices', 'box', 'testpmd-macswap', 'macswap', 'floor']),
    ('foreign', 'linerate', ['--workload', 'foreign64', 'foreign1518', 'imix',
                             '--devices', 'box', 'testpmd-macswap', 'macswap']),
    ('flows', 'linerate', ['--workload', 'write512', '--flows', '64', '65536', '--interleave', '--devices', 'box', 'floor']),
    ('custody', 'linerate', ['--workload', 'write4096', 'write512', '--custody-mb', '0', '12.5', '125', '--interleave',
                             '--devices', 'box', 'floor', 'floor-backlog']),
    ('delay', 'ack_delay', ['--workload', 'write512']),
]

TESTPMD = 'testpmd-macswap'
MB_125 = 125_000_000


def without_testpmd(arguments):
    return [argument for argument in arguments if not argument.startswith('testpmd')]


class Mark:
    """One line of the table. `rounds` are its values, one for each round; what counts is their median, unless `value`
    is given; `wanted` is a least or a most."""

    def __init__(self, name, wanted, rounds, *, value=None, most=False, unit='', figures=None, beside=''):
        self.name, self.wanted, self.most, self.unit = name, wanted, most, unit
        self.rounds, self.figures, self.beside = rounds, figures, beside
        self.value = statistics.median(rounds) if value is None else value

    @property
    def reached(self):
        return self.value <= self.wanted if self.most else self.value >= self.wanted

    def document(self):
        return {'mark': self.name, 'wanted': f'{"at most" if self.most else "at least"} {self.wanted:.4g}{self.unit}',
                'value': round(self.value, 4), 'rounds': [round(value, 4) for value in self.rounds],
                'reached': self.reached, 'box': self.figures, 'beside': self.beside}


def of_point(point):
    """The box's absolute figures at a point, and what the line could carry."""
    box = point['devices']['box']
    return {'mpps': box['mpps'], 'gbps_line': box['gbps_line'], 'cycles_per_packet': box['cycles_per_packet']['median'],
            'frame_bytes': point['frame_bytes'], 'line_rate_100g_mpps': point['line_rate_100g_mpps']}


def find(document, workload, **wanted):
    for point in document['points']:
        if point['workload'] == workload and all(point[key] == value for key, value in wanted.items()):
            return point
    raise SystemExit(f'marks: no point {workload} {wanted}')


def cycles(point, device):
    return point['devices'][device]['cycles_per_packet']['rounds']


def ratio_mark(name, wanted, point, reference):
    compared = point['compared'][f'box/{reference}']
    other = point['devices'][reference]
    beside = f'{reference} {other["mpps"]:.2f} Mpps, {other["cycles_per_packet"]["median"]:.0f} cycles'
    if compared['measured'] == 'outside':
        beside += '; both seen from outside'
    return Mark(name, wanted, compared['rate_ratio']['rounds'], unit=' x', figures=of_point(point), beside=beside)


def absolute_mark(name, wanted, point):
    box = point['devices']['box']
    hz_per_million = box['mpps'] * box['cycles_per_packet']['median']
    return Mark(name, wanted, [hz_per_million / value for value in cycles(point, 'box')], unit=' Mpps',
                figures=of_point(point), beside=f'line rate {point["line_rate_100g_mpps"]:.2f} Mpps; holds in a calm run only')


def growth_mark(name, document, workload, custody):
    """How much more a packet costs with `custody` bytes held than with none, less what it costs the floor with as long
    a queue: that is the caches' share."""
    few, many = (min((p for p in document['points'] if p['workload'] == workload),
                     key=lambda p, bytes_wanted=bytes_wanted: abs(p['custody_bytes'] - bytes_wanted))
                 for bytes_wanted in (0, custody))
    rounds, grown, cached = [], [], []
    for box_few, box_many, queue_few, queue_many in zip(cycles(few, 'box'), cycles(many, 'box'),
                                                        cycles(few, 'floor-backlog'), cycles(many, 'floor-backlog')):
        grown.append(100 * (box_many - box_few) / box_few)
        cached.append(100 * (queue_many - queue_few) / box_few)
        rounds.append(grown[-1] - cached[-1])
    beside = (f'the box {statistics.median(grown):+.0f} %, of which the caches {statistics.median(cached):+.0f} %: '
              f'box {statistics.median(cycles(few, "box")):.0f} -> {statistics.median(cycles(many, "box")):.0f} cycles, '
              f'floor with a backlog {statistics.median(cycles(few, "floor-backlog")):.0f} -> '
              f'{statistics.median(cycles(many, "floor-backlog")):.0f}')
    return Mark(name, 10, rounds, most=True, unit=' %', figures=of_point(many), beside=beside)


def delay_marks(document):
    marks = []
    for point in document['points']:
        box, floor = point['devices']['box'], point['devices']['floor']
        for quantile, wanted in (('p50', 2), ('p99', 5), ('p99_9', 20)):
            if quantile not in box['undisturbed_ns']:
                raise SystemExit('marks: no undisturbed chunk of pseudo-ACK delays: the machine is too busy')
            beside = (f'{box["all_ns"][quantile] / 1e3:.2f} us with all {box["chunks_preempted"]} preemptions and '
                      f'{box["chunks_paused"]} pauses of {box["chunks"]} chunks; '
                      f'floor {floor["undisturbed_ns"][quantile] / 1e3:.2f} us, with all {floor["all_ns"][quantile] / 1e3:.2f}')
            figures = {'mpps': point['offered_mpps']['median'], 'highest_mpps': point['highest_mpps']['median']}
            rounds = [own[quantile] / 1e3 for own in box['undisturbed_ns_by_round'] if quantile in own]
            marks.append(Mark(f'pseudo-ACK delay, {point["workload"]}, {quantile.replace("_", ".")}', wanted, rounds,
                              value=box['undisturbed_ns'][quantile] / 1e3, most=True, unit=' us', figures=figures,
                              beside=beside))
    return marks


def evaluate(documents):
    """All marks, from the documents of MEASUREMENTS by name."""
    marks = []
    writes = documents['writes']
    for size in (4096, 1024, 512):
        marks.append(ratio_mark(f'WRITE {size} B / floor', 0.75, find(writes, f'write{size}'), 'floor'))
    small = find(documents['small'], 'write64')
    for reference in (TESTPMD, 'macswap'):
        if reference in small['devices']:
            marks.append(ratio_mark(f'WRITE 64 B / {reference}', 0.5, small, reference))
    for point in documents['foreign']['points']:
        for reference in (TESTPMD, 'macswap'):
            if reference in point['devices']:
                marks.append(ratio_mark(f'{point["workload"]} / {reference}', 0.8, point, reference))
    few, many = (find(documents['flows'], 'write512', flows=flows) for flows in (64, 65536))
    beside = f'{few["devices"]["box"]["mpps"]:.2f} Mpps, {few["devices"]["box"]["cycles_per_packet"]["median"]:.0f} cycles at 64'
    marks.append(Mark('WRITE 512 B, 65,536 flows / 64 flows', 0.7,
                      [a / b for a, b in zip(cycles(few, 'box'), cycles(many, 'box'))], unit=' x', figures=of_point(many),
                      beside=beside))
    for size in (4096, 512):
        marks.append(growth_mark(f'WRITE {size} B, price of 125 MB in custody', documents['custody'], f'write{size}', MB_125))
    marks += delay_marks(documents['delay'])
    for size, wanted in ((4096, None), (1024, None), (512, 15.0)):
        point = find(writes, f'write{size}')
        what = '100 Gbit/s' if wanted is None else f'{wanted:g} Mpps'
        marks.append(absolute_mark(f'WRITE {size} B, {what}', wanted or point['line_rate_100g_mpps'], point))
    return marks
