"""Kernelspecs by name, in every spelling that clients send; and broken ones, which are said once in
the log, left out of the list, and not to be had by name."""

import json
import shutil

import cellblock
import pytest
from rest import Rest, check_error

GOOD = {"argv": ["/bin/true"], "display_name": "Good", "language": "none"}


def without(name):
    return {key: value for key, value in GOOD.items() if key != name}


# folder -> what its kernel.json holds
BROKEN = {
    "cut": '{"argv": [',
    "empty": "",
    "a-list": "[]",
    "no-argv": without("argv"),
    "no-display-name": without("display_name"),
    "no-language": without("language"),
    "argv-a-text": {**GOOD, "argv": "/bin/true"},
    "argv-of-numbers": {**GOOD, "argv": [1]},
    "display-name-a-number": {**GOOD, "display_name": 1},
    "language-null": {**GOOD, "language": None},
    "env-a-list": {**GOOD, "env": []},
    "metadata-a-text": {**GOOD, "metadata": "x"},
    "interrupt-mode-unknown": {**GOOD, "interrupt_mode": "shout"},
    "with space": GOOD,
    "caf\u00e9": GOOD,
    "per%20cent": GOOD,
    "x" * 128: GOOD,
}


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    shutil.copytree(cellblock.BUILD / "kernels" / "echo", folder / "Echo-1.0_x")
    for name, content in BROKEN.items():
        (folder / name).mkdir()
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name / "kernel.json").write_text(text)
    (folder / "no-kernel").mkdir()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "kernel.json").write_text(json.dumps(GOOD))
    with cellblock.Serve(kernels=folder) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.mark.parametrize("name", ["echo-1.0_x", "Echo-1.0_X", "%65cho%2D1%2E0%5Fx"])
def test_every_spelling(rest, name):
    """jupyter_client takes capital letters for small ones."""
    response = rest.get(f"/api/kernelspecs/{name}")
    assert response.status_code == 200
    assert response.json()["name"] == "echo-1.0_x"


def test_started_by_any_spelling(rest):
    kernel_id = rest.start_kernel(name="ECHO-1.0_x")
    assert rest.kernel(kernel_id)["name"] == "echo-1.0_x"
    rest.end_kernel(kernel_id)


def test_list(rest):
    names = rest.get("/api/kernelspecs").json()["kernelspecs"]
    assert "echo-1.0_x" in names
    assert not {name.lower() for name in BROKEN} & set(names)
    assert not {"no-kernel", ".hidden", "hidden"} & set(names)


@pytest.mark.parametrize("name", BROKEN)
def test_broken(serve, rest, name):
    check_error(rest.get(f"/api/kernelspecs/{name}"), 404)
    check_error(rest.post("/api/kernels", json={"name": name}), 404)
    lines = [line for line in serve.log().splitlines() if "left out" in line]
    about = [line for line in lines if f" {name}" in line or f"/{name}" in line]
    assert len(about) == 1, about


def test_what_is_no_kernelspec_is_not_said(serve):
    assert "no-kernel" not in serve.log() and "hidden" not in serve.log()
