"""suites - other gateways' own tests: what suites.txt says of each, and how they are run here.

A line of suites.txt is `runs FILE::TEST`, or `left FILE::TEST line N, `WORDS`: WHY`. These words of
line N make the test internal to their server, or ask for what this gateway does otherwise.
"""

import ast
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).parent
SDISTS = pathlib.Path(os.environ.get("TEST_SDISTS", "/nowhere"))
LIMIT_S = 600

# Where the sources keep the files whose tests are listed, and the part of the path that is left out
# of their names.
FILES = (
    "jupyter_server/tests/services/kernels/test_api.py",
    "jupyter_server/tests/services/kernels/test_execution_state.py",
    "jupyter_server/tests/services/sessions/test_api.py",
    "enterprise_gateway/tests/test_handlers.py",
    "enterprise_gateway/tests/test_enterprise_gateway.py",
    "enterprise_gateway/itests/test_python_kernel.py",
)
# Of jupyter_server, whose conftest.py is replaced, no more than its tests import.
JUPYTER_SERVER = ("__init__.py", "utils.py", "services")
# The class that runs the tests of a base class on a local kernel.
RUN_AS = {"PythonKernelBaseTestCase": "TestPythonKernelLocal"}


def unpack(folder):
    """The tests of both below folder, ready to run; returns nothing."""
    for path in sorted(SDISTS.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            archive.extractall(folder / "sources")
    (server,) = (folder / "sources").glob("jupyter_server-*")
    (enterprise,) = (folder / "sources").glob("jupyter_enterprise_gateway-*")
    for name in JUPYTER_SERVER:
        source, target = (
            server / "tests" / name,
            folder / "jupyter_server" / "tests" / name,
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    shutil.copytree(enterprise / "enterprise_gateway", folder / "enterprise_gateway")
    base = folder / "enterprise_gateway" / "tests" / "test_gatewayapp.py"
    base.write_text("from suite_gatewayapp import *  # noqa: F403\n")


def is_test(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[:5] == "test_"


def found_in(folder, path):
    """FILE::TEST or FILE::CLASS::TEST of every test function, each once."""
    module = ast.parse((folder / path).read_text())
    names = [node.name for node in module.body if is_test(node)]
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names += [f"{node.name}::{inner.name}" for inner in node.body if is_test(inner)]
    return [f"{path}::{name}" for name in names]


def read_list():
    """{test: None where it runs, else why not}"""
    listed = {}
    for line in (HERE / "suites.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, test, *why = line.split(None, 2)
        assert word in ("runs", "left") and bool(why) == (word == "left"), line
        assert test not in listed, line
        listed[test] = why[0] if why else None
    return listed


def run_as(test):
    """The name by which pytest knows it."""
    for base, local in RUN_AS.items():
        test = test.replace(f"::{base}::", f"::{local}::")
    return test


def run(folder, tests, gateway):
    """{test: end} of these, in a process of their own for each of the three parts. gateway is the
    HOST:PORT/PREFIX of a running server, for those that take one."""
    ends = {}
    for part in (
        "jupyter_server",
        "enterprise_gateway/tests",
        "enterprise_gateway/itests",
    ):
        chosen = {run_as(test): test for test in tests if test.startswith(f"{part}/")}
        found = run_part(folder, part, chosen, gateway)
        ends |= {test: found.get(name) for name, test in chosen.items()}
    return ends


def run_part(folder, part, tests, gateway):
    record = folder / f"{part.replace('/', '-')}.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "suite_plugin",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "-o",
        "addopts=",
        "-W",
        "ignore",
        "--rootdir",
        folder,
        "--tb=short",
        *tests,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{HERE}:{HERE.parent / 'support'}:{folder}",
        "SUITE_ENDS": str(record),
        "ASYNC_TEST_TIMEOUT": "120",
        "GATEWAY_HOST": gateway,
        "ITEST_HOSTNAME_PREFIX": "cellblock",
    }
    subprocess.run(command, cwd=folder, env=environment, timeout=LIMIT_S, check=False)
    return json.loads(record.read_text())
