"""numpy's own fast tests, of the kernels' own numpy, end inside a jail as they do outside, but for
what numpy-differences.txt names with its reasons. The short form runs some of them.
"""

import pathlib

import cellblock
import differences
import places
import pytest

FOLDER = pathlib.Path(__file__).parent
LIST = FOLDER / "numpy-differences.txt"
SCRIPT = FOLDER / "run_numpy.py"
# What meets the jail: files, memory maps, threads, BLAS, and numpy as it is installed.
SHORT = (
    "numpy._core.tests.test_memmap",
    "numpy._core.tests.test_multithreading",
    "numpy.lib.tests.test__datasource",
    "numpy.lib.tests.test_format",
    "numpy.lib.tests.test_io",
    "numpy.lib.tests.test_loadtxt",
    "numpy.linalg",
    "numpy.tests",
)
SHORT_TESTS = 1000
LONG_TESTS = 30_000


@pytest.fixture(scope="module")
def both(serve, is_long, suites_python):
    """(outside, inside), each name -> test -> (end, sentence)"""
    command = [cellblock.PYTHON / "bin" / "python3", SCRIPT.name, 2, *(() if is_long else SHORT)]
    (packages,) = suites_python.glob("lib/python3.*/site-packages")
    more = {"PYTHONPATH": f".:{packages}", "PATH": f"{cellblock.PYTHON}/bin:/usr/bin:/bin"}
    # A session has less memory than the machine; what needs more of it is skipped on both sides.
    more["NPY_AVAILABLE_MEM"] = "3 GB"
    return places.outside(SCRIPT, command, more), places.inside(
        serve, SCRIPT, command, more, name="suites"
    )


def test_ends_as_outside(both, is_long):
    outside, inside = both
    assert "numpy" in inside, "it was not done in its time, or its process died"
    assert len(inside["numpy"]) >= (LONG_TESTS if is_long else SHORT_TESTS)
    lines = differences.read(LIST.read_text())
    if not is_long:
        paths = tuple(name.replace(".", "/") for name in SHORT)
        lines = [line for line in lines if line.test.startswith(paths)]
    problems = differences.compare(lines, places.ends(outside), places.ends(inside))
    said = {test: sentence for test, (_, sentence) in inside["numpy"].items()}
    assert not problems, differences.explain(problems, said)
