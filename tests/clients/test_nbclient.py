"""nbclient, unmodified, over GatewayKernelManager: each notebook ends as it does on a local kernel.

JUPYTER_GATEWAY_URL alone lets it in; its WebSocket carries no header and no query.
"""

import concurrent.futures
import os
import subprocess
import sys

import kernelspecs
import nbformat
import pytest
from notebooks import NOTEBOOKS, make_notebook, results, run_notebooks

# How long the silent cell is silent. TEST_SILENT_S=60 takes the client's own patience, 40 s.
SILENT_S = int(os.environ.get("TEST_SILENT_S", "25"))


@pytest.fixture(scope="module")
def executed(tmp_path_factory, pipeline_url, kernels):
    """All notebooks, executed over the gateway and locally: (remote, local)."""
    homes = {where: tmp_path_factory.mktemp(where) for where in ("gateway", "local")}
    environments = {
        "gateway": {"JUPYTER_GATEWAY_URL": pipeline_url},
        "local": {"JUPYTER_PATH": str(kernels.parent), "HOME": str(homes["local"])},
    }
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(run_notebooks, home, where, NOTEBOOKS, **environments[where])
            for where, home in homes.items()
        ]
        return [run.result() for run in runs]


@pytest.fixture
def run(tmp_path, pipeline_url):
    """Runs the cells of one notebook over the gateway: (error or None, the executed notebook)."""

    def run_one(*sources, **environment):
        environment["JUPYTER_GATEWAY_URL"] = pipeline_url
        return run_notebooks(tmp_path, "gateway", {"one": sources}, **environment)["one"]

    return run_one


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_same_as_on_a_local_kernel(executed, name):
    (remote_error, remote), (local_error, local) = (runs[name] for runs in executed)
    assert results(remote) == results(local)
    assert remote_error == local_error


def test_an_error_is_a_cell_execution_error(executed):
    error, notebook = executed[0]["an error"]
    assert error["class"] == "CellExecutionError"
    assert "ZeroDivisionError" in error["text"] and "division by zero" in error["text"]
    assert results(notebook)[2] == (None, [])


def test_figure_is_a_png(executed):
    _, notebook = executed[0]["figure"]
    (_, (plot,)), (_, figure) = results(notebook)[1:]
    assert plot["data"]["image/png"].startswith("iVBORw0KGgo")
    assert figure[0]["output_type"] == "execute_result"
    assert figure[-1]["data"]["image/png"].startswith("iVBORw0KGgo")


def test_a_killed_kernel_ends_the_notebook(run):
    """nbclient over a gateway cannot see a dead kernel; the synthesised end must tell it."""
    error, notebook = run("1", "import os\nos.kill(os.getpid(), 9)", "print('never')")
    assert error["class"] == "CellExecutionError"
    assert "SIGKILL" in error["text"]
    assert results(notebook)[2] == (None, [])


def test_a_silent_cell_outlasts_the_client_patience(run):
    """Its receive times out after KERNEL_LAUNCH_TIMEOUT seconds without a frame, as pings are."""
    patience = {} if SILENT_S > 40 else {"KERNEL_LAUNCH_TIMEOUT": str(SILENT_S - 5)}
    code = f"import time\ntime.sleep({SILENT_S})\nprint('slept')"
    error, notebook = run(code, **patience)
    assert error is None
    ((_, outputs),) = results(notebook)
    assert outputs[0]["text"] == "slept\n"


def test_a_slow_kernel_is_no_dead_kernel(start_serve, tmp_path):
    """It takes a kernel for dead that is silent for a second after the upgrade."""
    folder = tmp_path / "slow"
    kernelspecs.write_kernelspec(folder, "python3", kernelspecs.arguments("slow"))
    server = start_serve(kernels=folder)
    url = f"{server.url}/t/{server.token}/"
    runs = run_notebooks(tmp_path, "gateway", {"one": ["6 * 7"]}, JUPYTER_GATEWAY_URL=url)
    error, notebook = runs["one"]
    assert error is None
    ((_, (result,)),) = results(notebook)
    assert result["data"]["text/plain"] == "42"


def test_nbconvert_runs_the_same_way(tmp_path, pipeline_url):
    nbformat.write(make_notebook(["x = 6", "x * 7"]), tmp_path / "in.ipynb")
    manager = "jupyter_server.gateway.managers.GatewayKernelManager"
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "in.ipynb"]
    command += [f"--ExecutePreprocessor.kernel_manager_class={manager}", "--output", "out.ipynb"]
    environment = {**os.environ, "JUPYTER_GATEWAY_URL": pipeline_url}
    subprocess.run(command, cwd=tmp_path, env=environment, timeout=150, check=True)
    (_, (result,)) = results(nbformat.read(tmp_path / "out.ipynb", as_version=4))[1]
    assert result["data"]["text/plain"] == "42"


def test_no_kernel_is_left(rest, run):
    before = rest.kernel_ids()
    run("1")
    assert rest.kernel_ids() == before
