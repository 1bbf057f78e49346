"""How large the machine is, as a session's programs find it: as large as its limits, whomever they
ask. cpus_milli is not a whole number, and is rounded up."""

import ast
import contextlib
import os
import time

import cellblock
import pytest
from channels import Channels
from rest import Rest

MEMORY = 300 << 20
HOST_CPUS = len(os.sched_getaffinity(0))


class Session:
    def __init__(self, *arguments, kernels):
        with contextlib.ExitStack() as ends:
            serve = ends.enter_context(cellblock.Serve(*arguments, kernels=kernels))
            rest = Rest(serve)
            kernel_id = rest.start_kernel()
            ends.callback(rest.end_kernel, kernel_id)
            self.channels = ends.enter_context(Channels(serve, kernel_id))
            self.ends = ends.pop_all()

    def __call__(self, expression, before=""):
        """The value of an expression in the session, warnings being errors."""
        setup = "import os, warnings; warnings.simplefilter('error')"
        answer = self.channels.run(f"{setup}\n{before}\nprint(repr({expression}))")
        assert answer.content["status"] == "ok", answer.content
        return ast.literal_eval(answer.text)


@pytest.fixture(scope="module")
def small(kernels):
    """At most one processor."""
    session = Session("--memory-bytes", str(MEMORY), "--cpus-milli", "600", kernels=kernels)
    with session.ends:
        yield session


@pytest.fixture(scope="module")
def unlimited(kernels):
    session = Session(kernels=kernels)
    with session.ends:
        yield session


COUNTS = {
    "os": ("", "os.cpu_count()"),
    "sysconf": ("", "os.sysconf('SC_NPROCESSORS_ONLN')"),
    "psutil": ("import psutil", "psutil.cpu_count()"),
    "psutil cores": ("import psutil", "psutil.cpu_count(logical=False)"),
    "psutil percent": ("import psutil", "len(psutil.cpu_percent(percpu=True))"),
    "multiprocessing": ("import multiprocessing", "multiprocessing.cpu_count()"),
    "nproc": ("import subprocess", "int(subprocess.check_output(['nproc']))"),
    "lscpu": (
        "import subprocess",
        "len([l for l in subprocess.check_output(['lscpu', '-p=cpu'], text=True).splitlines()"
        " if l[0] != '#'])",
    ),
    "cpuinfo": ("", "sum(line.startswith('processor') for line in open('/proc/cpuinfo'))"),
    "stat": ("", "sum(line[:3] == 'cpu' != line[:4].strip() for line in open('/proc/stat'))"),
    "sys": ("import glob", "len(glob.glob('/sys/devices/system/cpu/cpu[0-9]*'))"),
    "OpenBLAS": (
        "import ctypes, glob, numpy\n"
        "folder = os.path.dirname(numpy.__file__) + '.libs/'\n"
        "library = ctypes.CDLL(glob.glob(folder + 'lib*openblas*')[0])\n"
        "name = next(n for n in ('scipy_openblas_get_num_threads64_', "
        "'openblas_get_num_threads64_', 'openblas_get_num_threads') if hasattr(library, n))",
        "getattr(library, name)()",
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_processors_of_a_limited_session(small, name):
    before, expression = COUNTS[name]
    assert small(expression, before) == 1


@pytest.mark.parametrize("name", COUNTS)
def test_processors_without_a_limit(unlimited, name):
    before, expression = COUNTS[name]
    assert unlimited(expression, before) == HOST_CPUS


def test_the_range_of_processors(small):
    folder = "/sys/devices/system/cpu/"
    for name in ("online", "present"):
        assert small(f"open('{folder}{name}').read()") == "0\n"
    # One may still run on any: what keeps an array by their number asks for this.
    with open(folder + "possible") as file:
        assert small(f"open('{folder}possible').read()") == file.read()


def test_memory(small):
    memory = small("psutil.virtual_memory()._asdict()", "import psutil")
    assert memory["total"] == MEMORY
    assert 0 < memory["available"] <= MEMORY and 0 < memory["free"] <= MEMORY
    assert 0 <= memory["percent"] <= 100
    swap = small("psutil.swap_memory()._asdict()", "import psutil")
    assert (swap["total"], swap["sin"], swap["sout"]) == (0, 0, 0)


def test_what_counts_since_the_start_of_the_machine(small):
    """The start itself is true, because the times of processes count from it."""
    assert small("open('/proc/loadavg').read()").startswith("0.00 0.00 0.00 ")
    before = "import psutil, time"
    assert abs(small("psutil.boot_time()", before) - (time.time() - read_uptime())) < 60
    age_s = small("time.time() - psutil.Process().create_time()", before)
    assert 0 <= age_s < 600
    up_s = small("float(open('/proc/uptime').read().split()[0])")
    assert up_s == pytest.approx(read_uptime(), abs=600)


def read_uptime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# Everything of psutil that takes no argument and asks the machine or the process itself.
PSUTIL = """
import psutil
asked, failed = [], []
own = psutil.Process()
names = ('cpu_count cpu_freq cpu_percent cpu_stats cpu_times cpu_times_percent virtual_memory '
         'swap_memory boot_time disk_partitions disk_io_counters net_io_counters net_if_addrs '
         'net_if_stats net_connections pids users getloadavg sensors_temperatures sensors_fans '
         'sensors_battery')
for holder, words in ((psutil, names.split()), (own, own.as_dict().keys() - {'pid'})):
    for word in words:
        try:
            getattr(holder, word)()
        except Exception as error:
            failed.append((word, repr(error)))
        asked.append(word)
"""


def test_psutil_falls_over_nothing(small):
    assert small("len(asked) > 40 and failed", PSUTIL) == []
