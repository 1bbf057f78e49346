"""CPython's own tests end inside a jail as they do outside, but for what cpython-differences.txt
names with its reasons.

All run inside. The short form asks outside only about what did not pass inside; the long one
(tests/suites/run) runs all on both sides.
"""

import pathlib

import differences
import places
import pytest

FOLDER = pathlib.Path(__file__).parent
LIST = FOLDER / "cpython-differences.txt"
SCRIPT = FOLDER / "run_cpython.py"
# Name -> fewest tests that it has. The longest come first.
SUITES = {
    "test_multiprocessing_spawn": 350,
    "test_asyncio": 2000,
    "test_subprocess": 300,
    "test_socket": 600,
    "test_threading": 150,
    "test_mmap": 30,
    "test_pty": 5,
}


def command(names):
    return ["/usr/bin/python3", SCRIPT.name, 2, *names]


@pytest.fixture(scope="module")
def inside(serve):
    """suite -> test -> (end, sentence)"""
    return places.inside(serve, SCRIPT, command(SUITES), {})


@pytest.fixture(scope="module")
def outside(inside, is_long):
    """test -> end"""
    if is_long:
        return places.ends(places.outside(SCRIPT, command(SUITES), {}))
    ends = places.ends(inside)
    # "setUpClass (test.test_socket.Name)" is no name to ask for.
    names = [test for test, end in ends.items() if end != "passed" and "(" not in test]
    return ends | places.ends(places.outside(SCRIPT, command(names), {}))


@pytest.mark.parametrize("suite", SUITES)
def test_ends_as_outside(inside, outside, suite):
    assert suite in inside, "it was not done in its time, or its process died"
    assert len(inside[suite]) >= SUITES[suite]
    lines = differences.read(LIST.read_text())
    lines = [line for line in lines if line.test.startswith(f"{suite}.")]
    ends = {test: end for test, end in outside.items() if test.partition(".")[0] == suite}
    problems = differences.compare(lines, ends, places.ends({suite: inside[suite]}))
    said = {test: sentence for test, (_, sentence) in inside[suite].items()}
    assert not problems, differences.explain(problems, said)
