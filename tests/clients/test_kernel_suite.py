"""jupyter_kernel_test on ipykernel through the gateway: what passes on the kernel passes here."""

import json
import os
import subprocess
import sys

import pytest

KERNEL_SUITE = os.path.join(os.path.dirname(__file__), "kernel_suite.py")
# Some minutes of nobody's machine: one message may take a minute.
LIMIT_S = 300

TESTS = [
    "test_clear_output",
    "test_completion",
    "test_display_data",
    "test_error",
    "test_execute_result",
    "test_execute_stderr",
    "test_execute_stdout",
    "test_history",
    "test_inspect",
    "test_is_complete",
    "test_kernel_info",
    "test_pager",
]
# ipykernel answers a range of its own session with the session's number 0.
KNOWN = {"test_history": {"end": "failed", "parts": ["(hist_access_type='range')"]}}


def run_suite(where, **environment):
    done = subprocess.run(
        [sys.executable, KERNEL_SUITE, where],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ends(tmp_path_factory, pipeline_url, kernels):
    """(ends through the gateway, ends on the kernel directly)"""
    home = tmp_path_factory.mktemp("direct")
    # One after the other: the suite gives some messages a tenth of a second.
    return (
        run_suite("gateway", JUPYTER_GATEWAY_URL=pipeline_url),
        run_suite("direct", JUPYTER_PATH=str(kernels.parent), HOME=str(home)),
    )


def test_the_suite_is_whole(ends):
    """No test of it is new, gone or skipped, on either side."""
    for one in ends:
        assert sorted(one) == TESTS
        assert "skipped" not in {entry["end"] for entry in one.values()}


@pytest.mark.parametrize("name", TESTS)
def test_same_as_on_the_kernel(ends, name):
    through_gateway, direct = ends
    assert through_gateway[name] == direct[name]
    assert direct[name] in ({"end": "passed", "parts": []}, KNOWN.get(name))
