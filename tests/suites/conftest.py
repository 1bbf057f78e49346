"""Fixtures of the suites: the long form, which tests/suites/run asks for, and a server whose
sessions see the packages that numpy's tests need."""

import json
import os
import pathlib

import cellblock
import kernelspecs
import pytest


@pytest.fixture(scope="session")
def is_long():
    return os.environ.get("TEST_SUITES") == "long"


@pytest.fixture(scope="session")
def suites_python():
    """The prefix of an environment with requirements.txt, made by tests/run."""
    return pathlib.Path(f"{cellblock.PYTHON}-suites")


# Some of the suites start hundreds of threads, or make files of hundreds of megabytes.
@pytest.fixture(scope="module")
def serve(tmp_path_factory, suites_python):
    folder = kernelspecs.write_kernelspecs(
        tmp_path_factory.mktemp("kernels") / "kernels", ["python3"]
    )
    kernelspecs.write_kernelspec(folder, "suites", kernelspecs.arguments("python3"))
    path = folder / "suites" / "kernel.json"
    spec = json.loads(path.read_text())
    spec["metadata"] = {"cellblock": {"trees": [str(suites_python)]}}
    path.write_text(json.dumps(spec))
    limits = ["--memory-bytes", "4 GiB", "--workspace-bytes", "1 GiB", "--pids", "1024"]
    with cellblock.Serve(*limits, kernels=folder) as server:
        yield server


def pytest_collection_modifyitems(items):
    # A suite takes minutes; the group has a limit of its own.
    for item in items:
        item.add_marker(pytest.mark.timeout(2400))
