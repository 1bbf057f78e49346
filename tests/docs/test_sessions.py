"""docs/sessions.md: what it shows is run, and what it lists is what there is."""

import json
import os
import re
import subprocess
import sys

import cellblock
import kernelspecs
import pytest

PAGE = (cellblock.ROOT / "docs" / "sessions.md").read_text()
LIMITS = (cellblock.ROOT / "gateway" / "config" / "limits.def").read_text()
SCHEMA = (cellblock.ROOT / "gateway" / "session" / "parameters.c").read_text()


def block(language, heading):
    """The one block of a language below a heading."""
    section = PAGE.partition(f"# {heading}\n")[2].partition("\n## ")[0]
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return found


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """With the page's two lines of configuration, and its data folder."""
    kernels = kernelspecs.write_kernelspecs(tmp_path_factory.mktemp("kernels"), ("python3",))
    sets = tmp_path_factory.mktemp("sets")
    config = tmp_path_factory.mktemp("config") / "cellblock.ini"
    lines = re.search(r"^```text\n(memory_bytes = .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    config.write_text(f"{lines}data = sets={sets}\n")
    with cellblock.Serve("--config", config, "--max-cpus-milli=2000", kernels=kernels) as server:
        yield server


def run(command, server):
    environment = {**os.environ, "URL": server.url, "TOKEN": server.token}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_object_is_taken(serve):
    wanted = json.loads(block("json", "Session parameters"))
    status, model = serve.request("POST", "/api/kernels", {"cellblock": wanted})
    assert status == 201, model
    shown = model["cellblock"]
    assert shown["limits"].items() >= wanted["limits"].items()
    assert (shown["data"], shown["labels"]) == (wanted["data"], wanted["labels"])


def test_curl(serve):
    model = json.loads(run(["bash", "-c", block("sh", "With HTTP")], serve))
    assert model["cellblock"]["limits"]["memory_bytes"] == 384 << 20
    assert model["cellblock"]["data"] == ["sets"]


def test_nbclient(serve):
    snippet = block("python", "With nbclient, papermill, JupyterLab")
    assert run([sys.executable, "-c", snippet], serve) == "['sets'] 512\n\n"


def test_the_refusal_is_what_is_said(serve):
    body = {"cellblock": {"limits": {"memory_bytes": 4 << 30}}}
    status, answer = serve.request("POST", "/api/kernels", body)
    assert status == 400 and f"\n{answer['message']}\n" in PAGE


def test_every_parameter_is_named():
    keys = re.findall(r'^LIMIT\(\w+, "(\w+)"', LIMITS, re.MULTILINE)
    names = re.findall(r'^    \{"(\w+)", GIVER_', SCHEMA, re.MULTILINE)
    later = re.search(r"later_limits\[\] = \{(.*?)\}", SCHEMA, re.DOTALL)[1]
    assert len(keys) == 6 and len(names) == 10
    for word in (*keys, *names, *re.findall(r'"(\w+)"', later)):
        assert f"`{word}`" in PAGE, word


def test_every_code_is_named():
    for word in re.findall(r'\{E\w+, "(\w+)"\}', SCHEMA):
        assert f"`{word}`" in PAGE, word
