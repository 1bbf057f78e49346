"""large - pandas reads a large CSV file of /data whole, in a session with memory for it and in one
without, and a neighbour goes on meanwhile.

The file is numbers, made here. The first session may use three times its size and must hold all
of it; the second may use half of it and must be told that its memory did not do. A third session
runs `1+1` all the time: alone before, between and behind the reads, since the machine is shared,
and beside them. Ends with 1 where one of that is not so, or where the neighbour's median beside the
reads is not below twice what it is alone."""

import argparse
import concurrent.futures
import contextlib
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from cellblock import Serve  # noqa: E402
from channels import Channels  # noqa: E402
from rest import Rest  # noqa: E402
from samples import heading, line, milliseconds  # noqa: E402

MEBIBYTE = 1 << 20
COLUMNS = 10
ROWS_A_BLOCK = 10_000
ALONE = 100  # samples, three times
READ_S = 600
READ = """
import glob, pandas
(path,) = glob.glob("/data/large/*.csv")
frame = pandas.read_csv(path)
print(len(frame), len(frame.columns), float(frame["c0"].sum()))
"""


def write_csv(path, size):
    """So many bytes of the same block of rows over and over; (rows, sum of the first column)."""
    numbers = random.Random(1)
    rows = [[numbers.uniform(-1e4, 1e4) for _ in range(COLUMNS)] for _ in range(ROWS_A_BLOCK)]
    block = "".join(",".join(f"{number:.6f}" for number in row) + "\n" for row in rows).encode()
    blocks = max(1, size // len(block))
    with open(path, "wb") as file:
        file.write((",".join(f"c{i}" for i in range(COLUMNS)) + "\n").encode())
        file.writelines(block for _ in range(blocks))
    return blocks * ROWS_A_BLOCK, blocks * sum(round(row[0], 6) for row in rows)


def sample(channels):
    took = milliseconds(lambda: channels.run("1+1"))
    channels.log.clear()  # each answer is looked for in all of it
    return took


class Session:
    """A kernel of this much memory that sees the data folder."""

    def __init__(self, server, limit_mib):
        limits = {"memory_bytes": limit_mib * MEBIBYTE}
        self.rest = Rest(server)
        self.id = self.rest.start_kernel(cellblock={"limits": limits, "data": ["large"]})
        self.channels = Channels(server, self.id)
        self.channels.run("1+1")

    def read(self):
        """(seconds, answer)"""
        start = time.perf_counter()
        answer = self.channels.run(READ, seconds=READ_S)
        return time.perf_counter() - start, answer

    def end(self):
        self.channels.close()
        self.rest.end_kernel(self.id)


def read_beside(neighbour, session):
    """(seconds, answer, the neighbour's samples meanwhile)"""
    samples = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reading = pool.submit(session.read)
        while not reading.done():
            samples.append(sample(neighbour))
        return *reading.result(), samples


def measure(server, size_mib, expected):
    rest = Rest(server)
    with contextlib.closing(Channels(server, rest.start_kernel())) as neighbour:
        wide, narrow = Session(server, 3 * size_mib), Session(server, size_mib // 2)
        alone = [sample(neighbour) for _ in range(ALONE)]
        seconds, answer, beside = read_beside(neighbour, wide)
        wide.end()
        alone += [sample(neighbour) for _ in range(ALONE)]
        short_s, refusal, beside_short = read_beside(neighbour, narrow)
        reason = rest.kernel(narrow.id).get("reason", "")
        narrow.end()
        alone += [sample(neighbour) for _ in range(ALONE)]
    heading("neighbour, 1+1, milliseconds")
    line("alone", alone)
    line(f"{size_mib} MiB read in {seconds:.1f} s", beside)
    line(f"out of memory after {short_s:.1f} s", beside_short)
    print(f"what the second was told: {refusal.content.get('evalue')}")
    if answer.content["status"] != "ok" or not is_right(answer.text, expected):
        yield f"the read ended with {answer.content}: {answer.text.strip()} instead of {expected}"
    if refusal.content["status"] != "error" or "memory limit" not in reason:
        yield f"not told as out of memory: {refusal.content} {reason}"
    if statistics.median(beside + beside_short) >= 2 * statistics.median(alone):
        yield "the neighbour's median has more than doubled"


def is_right(text, expected):
    rows, columns, total = text.split()
    return (int(rows), int(columns)) == (expected[0], COLUMNS) and (
        abs(float(total) - expected[1]) < 1e-6 * abs(expected[1])
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024, help="size of the file (1024)")
    size_mib = parser.parse_args().mebibytes
    with tempfile.TemporaryDirectory(prefix="test-large-", dir="/var/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)
        expected = write_csv(pathlib.Path(folder) / "numbers.csv", size_mib * MEBIBYTE)
        with Serve(
            f"--data=large={folder}",
            f"--max-memory-bytes={3 * size_mib * MEBIBYTE}",
        ) as server:
            problems = list(measure(server, size_mib, expected))
    for problem in problems:
        print(f"problem: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
