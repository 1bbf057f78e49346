"""jupyter_kernel_test on R and bash: every test ends in a jail, through the gateway, as it ends on
the kernel itself.

Not on the others. Deno prints after it is idle, which the suite takes for nothing printed; JJava
answers no history_request, for which the suite waits; xeus-python's kernelspec says python3.11, by
which jupyter_client means its own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import table

SUITE = pathlib.Path(__file__).with_name("suite.py")
LIMIT_S = 150

# What these kernels have samples for.
PASSED = {
    "ir": {"completion", "display_data", "error", "execute_stderr", "execute_stdout", "inspect",
           "is_complete", "kernel_info"},
    "bash": {"completion", "error", "execute_stdout", "kernel_info"},
}  # fmt: skip


def ends(where, name, **environment):
    done = subprocess.run(
        [sys.executable, SUITE, where, name],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(2 * LIMIT_S + 60)
@pytest.mark.parametrize("name", PASSED)
def test_same_as_on_the_kernel(serve, tmp_path, name):
    """The client says no kernel's name to the gateway; the variable does."""
    inside = ends(
        "gateway",
        name,
        JUPYTER_GATEWAY_URL=f"{serve.url}/t/{serve.token}/",
        KERNEL_CELLBLOCK=json.dumps({"kernel": name}),
    )
    outside = ends("direct", name, JUPYTER_PATH=table.JUPYTER_PATH, HOME=str(tmp_path))
    assert inside == outside
    passed = {test for test, end in inside.items() if end["end"] == "passed"}
    assert passed == {f"test_{test}" for test in PASSED[name]}
    assert "failed" not in {end["end"] for end in inside.values()}
