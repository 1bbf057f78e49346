"""joblib starts as many workers as the session may use processors, and they work."""

import os

from channels import Channels
from rest import Rest

# A worker of loky writes to /dev/shm, forks and unpickles: more of the jail than counting needs.
CELL = """
import os, sys
sys.path.append({packages!r})
os.environ["PYTHONPATH"] = {packages!r}  # the workers' too
import joblib, math, warnings
warnings.simplefilter("error")
print(joblib.cpu_count(), joblib.cpu_count(only_physical_cores=True))
print(joblib.Parallel(n_jobs=2)(joblib.delayed(math.factorial)(n) for n in range(5)))
"""


def run(serve, suites_python, **body):
    (packages,) = suites_python.glob("lib/python3.*/site-packages")
    rest = Rest(serve)
    kernel_id = rest.start_kernel(name="suites", **body)
    with Channels(serve, kernel_id) as channels:
        answer = channels.run(CELL.format(packages=str(packages)))
    rest.end_kernel(kernel_id)
    assert answer.content["status"] == "ok", answer.content
    return answer.text.splitlines()


def test_less_than_one_processor(serve, suites_python):
    counts, results = run(serve, suites_python, cellblock={"limits": {"cpus": 0.6}})
    assert counts == "1 1"
    assert results == "[1, 1, 2, 6, 24]"


def test_all_there_are(serve, suites_python):
    counts, results = run(serve, suites_python)
    assert counts.split()[0] == str(len(os.sched_getaffinity(0)))
    assert results == "[1, 1, 2, 6, 24]"
