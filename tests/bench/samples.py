"""samples - how long something takes, a line of a table about it, and what a process holds."""

import pathlib
import statistics
import time

MEBIBYTE = 1 << 20


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def milliseconds(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def heading(title):
    print(f"{title:<34} {'median':>8} {'p99':>8} {'min':>8}   samples")


def line(name, samples):
    ordered = sorted(samples)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    figures = f"{statistics.median(ordered):8.2f} {p99:8.2f} {ordered[0]:8.2f}"
    print(f"{name:<34} {figures}   {len(ordered)}")
