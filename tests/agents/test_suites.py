"""jupyter_server's own tests of kernels and sessions, and Enterprise Gateway's of its handlers and
of a local kernel, against a running Cellblock. suites.txt says which, and why not the others."""

import re

import pytest
import suites

LISTED = suites.read_list()
RUN = [test for test, why in LISTED.items() if why is None]
# So many at least pass, each counted once.
AT_LEAST = 28


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suites")
    suites.unpack(folder)
    return folder


@pytest.fixture(scope="module")
def ends(folder, serve):
    gateway = f"127.0.0.1:{serve.port}/t/{serve.token}"
    return suites.run(folder, RUN, gateway)


def test_every_test_is_listed(folder):
    found = [test for path in suites.FILES for test in suites.found_in(folder, path)]
    assert sorted(found) == sorted(LISTED)


def test_every_reason_is_there(folder):
    """The words that are in the way stand in the line that is named."""
    for test, why in LISTED.items():
        number, words = re.match(r"line (\d+), `(.+)`: ", why).groups() if why else (1, "")
        lines = (folder / test.partition("::")[0]).read_text().splitlines()
        assert words in lines[int(number) - 1], test


@pytest.mark.timeout(suites.LIMIT_S)
@pytest.mark.parametrize("test", RUN)
def test_passes(ends, test):
    assert ends[test] == "passed"


@pytest.mark.timeout(suites.LIMIT_S)
def test_they_are_enough(ends):
    passed = [test for test, end in ends.items() if end == "passed"]
    print(f"{len(passed)} tests of jupyter_server and Enterprise Gateway passed")
    assert len(passed) >= AT_LEAST
