"""papermill.execute_notebook, unmodified, over GatewayKernelManager and by environment alone.
nbclient and nbconvert are in tests/clients/test_nbclient.py."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from rest import Rest

# name -> parameters, then sources, of which the first is the cell of parameters.
NOTEBOOKS = {
    "parameters": ({"n": 3, "word": "ab"}, "n = 1\nword = ''", "print(word * n)"),
    "an error": ({}, "n = 1", "print('one')", "n / 0", "print('two')"),
    "a dead kernel": ({}, "n = 1", "import os\nos.kill(os.getpid(), 9)", "print('two')"),
}

# In a process of its own: its gateway client reads the environment once. Prints by name what was
# raised, [ename, evalue] or null.
PAPERMILL = """
import json, sys
import papermill
from papermill.exceptions import PapermillExecutionError
manager = "jupyter_server.gateway.managers.GatewayKernelManager"
options = {"kernel_manager_class": manager, "progress_bar": False}
ends = {}
for name, parameters in json.loads(sys.argv[1]).items():
    try:
        papermill.execute_notebook(f"{name}.ipynb", f"{name}.out.ipynb", parameters, **options)
        ends[name] = None
    except PapermillExecutionError as error:
        ends[name] = [error.ename, error.evalue]
print(json.dumps(ends))
"""


def write_notebook(path, sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def printed(path):
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [output.text for output in outputs if output.output_type == "stream"]


@pytest.fixture(scope="module")
def executed(serve, prefix_url, tmp_path_factory):
    """name -> ([ename, evalue] or None, texts that the cells printed)"""
    folder = tmp_path_factory.mktemp("notebooks")
    for name, (_, *sources) in NOTEBOOKS.items():
        write_notebook(folder / f"{name}.ipynb", sources)
    parameters = {name: given for name, (given, *_) in NOTEBOOKS.items()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PAPERMILL, json.dumps(parameters)],
        cwd=folder,
        env={**os.environ, "JUPYTER_GATEWAY_URL": prefix_url},
        stdout=subprocess.PIPE,
        timeout=170,
        check=True,
    )
    ends = json.loads(done.stdout)
    return {name: (ends[name], printed(folder / f"{name}.out.ipynb")) for name in NOTEBOOKS}


def test_parameters(executed):
    assert executed["parameters"] == (None, ["ababab\n"])


def test_an_error_stops_the_notebook(executed):
    assert executed["an error"] == (
        ["ZeroDivisionError", "division by zero"],
        ["one\n"],
    )


def test_a_dead_kernel_stops_the_notebook(executed):
    (_, reason), texts = executed["a dead kernel"]
    assert "SIGKILL" in reason and not texts


def test_no_kernel_is_left(serve, executed):
    assert Rest(serve).kernel_ids() == set()
