"""Session parameters of a notebook that papermill runs: KERNEL_CELLBLOCK in its environment is all
that there is to say them."""

import json

import cellblock
import papermill_runs
import pytest
from papermill_runs import Notebook

MIB = 1 << 20
LOOK = """
import re
with open('/proc/meminfo') as file:
    print(int(re.search(r'MemTotal: *(\\d+) kB', file.read())[1]) << 10)
"""
MEMORY = {
    "looks": Notebook(
        {"size": 100}, ("size = 1", LOOK, "print(len(bytearray(b'x') * (size << 20)))")
    ),
    "takes more": Notebook({"size": 300}, ("size = 1", "held = bytearray(b'x') * (size << 20)")),
}
BASH = Notebook(
    {"n": 3, "word": "a b"},
    ("n=1\nword=", 'for i in $(seq $n); do echo "$word $i"; done', "echo ${BASH_VERSION%%.*}"),
    kernel="bash",
    language="bash",
)


@pytest.fixture(scope="module")
def serve(kernels):
    """Where gateway/add-kernel puts kernelspecs others are found too."""
    added = cellblock.PYTHON.parent / "kernels" / "share" / "jupyter"
    with cellblock.Serve(kernels=kernels, environment={"JUPYTER_PATH": str(added)}) as server:
        yield server


@pytest.fixture
def run(tmp_path, rest, prefix_url):
    """papermill_runs.execute with session parameters, None: without. It must leave no kernel."""

    def run_all(notebooks, parameters):
        more = {} if parameters is None else {"KERNEL_CELLBLOCK": json.dumps(parameters)}
        url = {"JUPYTER_GATEWAY_URL": prefix_url}
        return papermill_runs.execute(tmp_path, notebooks, **url, **more)

    yield run_all
    assert rest.kernel_ids() == set()


def test_a_notebook_under_256_mib(run):
    executed = run(MEMORY, {"limits": {"memory_bytes": 268435456}})
    assert executed["looks"] == (None, [f"{256 * MIB}\n", f"{100 * MIB}\n"])
    (ename, evalue), texts = executed["takes more"]
    assert ename == "KernelOutOfMemory" and not texts
    assert "memory limit of 268435456 bytes (256 MiB)" in evalue


def test_the_same_notebook_without_it(run):
    executed = run(MEMORY, None)
    assert executed["looks"] == (None, [f"{512 * MIB}\n", f"{100 * MIB}\n"])
    assert executed["takes more"] == (None, [])


def test_a_notebook_of_bash(run):
    """Whatever the notebook says, the client posts python3: only the variable names the kernel."""
    executed = run({"loop": BASH}, {"kernel": "bash"})
    error, (loop, version) = executed["loop"]
    assert error is None
    assert loop == "a b 1\na b 2\na b 3\n" and int(version) >= 4
