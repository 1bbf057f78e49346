"""jupyter_server with --gateway-url, which is how JupyterLab comes: every request of the browser
goes through it, and what it reads of our answers it reads strictly."""

import contextlib
import random
import secrets
import time

import cutter
import kernelspecs
import pytest
import websocket
from channels import PATIENCE_S, Channels
from frames import V1
from lab_server import LabServer
from rest import Rest, check_model

# What its environment says of every kernel's session (docs/sessions.md).
PARAMETERS = '{"limits": {"open_files": 555}, "labels": {"owner": "lab"}}'


def jupyter_server(folder, gateway_url, gateway_token, *options):
    command = ["jupyter", "server", f"--gateway-url={gateway_url}", *options]
    command += [f"--GatewayClient.auth_token={gateway_token}"]
    return LabServer(folder, command, {"KERNEL_CELLBLOCK": PARAMETERS})


@pytest.fixture(scope="module", params=["token", "prefix"])
def lab(request, serve, tmp_path_factory):
    """The gateway's token in its own option, or in the URL's path."""
    prefix = {"token": (serve.url, serve.token), "prefix": (f"{serve.url}/t/{serve.token}/", "")}
    with jupyter_server(tmp_path_factory.mktemp("lab"), *prefix[request.param]) as server:
        yield server


@pytest.fixture(scope="module")
def lab_rest(lab):
    return Rest(lab)


@pytest.fixture
def session(lab_rest):
    """What JupyterLab makes when a notebook is opened."""
    body = {"path": f"{secrets.token_hex(4)}.ipynb", "name": "", "type": "notebook"}
    response = lab_rest.post("/api/sessions", json={**body, "kernel": {"name": "python3"}})
    assert response.status_code == 201, response.text
    yield response.json()
    lab_rest.delete(f"/api/sessions/{response.json()['id']}")


def test_kernelspecs(lab_rest):
    body = lab_rest.get("/api/kernelspecs").json()
    assert body["kernelspecs"]["python3"]["spec"]["language"] == "python"


def test_logo(lab_rest):
    response = lab_rest.get("/kernelspecs/python3/logo-64x64.png")
    assert (response.status_code, response.content) == (200, kernelspecs.LOGO)


def test_models_can_be_read(lab_rest, session):
    """It parses last_activity with strptime and connections with int, at every poll."""
    kernel_id = session["kernel"]["id"]
    check_model(lab_rest.kernel(kernel_id), kernel_id)
    assert kernel_id in lab_rest.kernel_ids()
    assert kernel_id in [one["kernel"]["id"] for one in lab_rest.get("/api/sessions").json()]


def test_a_cell(lab, session):
    with Channels(lab, session["kernel"]["id"], session_id="lab") as channels:
        answer = channels.run("print('out')\n6 * 7")
        assert answer.text == "out\n42"
        assert answer.states == ["busy", "idle"]


def test_the_session_parameters_of_its_environment(serve, lab, session):
    kernel_id = session["kernel"]["id"]
    with Channels(lab, kernel_id, session_id="lab") as channels:
        code = "import os, resource\nresource.getrlimit(resource.RLIMIT_NOFILE)[0]"
        assert channels.run(code).text == "555"
        assert channels.run("[n for n in os.environ if 'KERNEL_CELLBLOCK' in n]").text == "[]"
    assert Rest(serve).kernel(kernel_id)["cellblock"]["labels"] == {"owner": "lab"}


def test_input(lab, session):
    with Channels(lab, session["kernel"]["id"], session_id="lab") as channels:
        msg_id = channels.execute("print(input('? '))", allow_stdin=True)
        asked = channels.until_kind("input_request", msg_id)
        channels.send("input_reply", {"value": "ada"}, "stdin", parent_header=asked["header"])
        assert "ada\n" in channels.answer(msg_id).text


def open_as_chrome(lab, kernel_id):
    """It offers a subprotocol, is given none, fails the handshake and hangs up; JupyterLab tries
    again without. jupyter_server then has two sockets to the gateway under one session_id, in any
    order, of which the first is nobody's."""
    with pytest.raises(websocket.WebSocketException):
        Channels(lab, kernel_id, session_id="lab", subprotocols=[V1])
    channels = Channels(lab, kernel_id, session_id="lab")
    for _ in range(10):
        msg_id = channels.send("kernel_info_request", {})
        with contextlib.suppress(websocket.WebSocketTimeoutException):
            channels.answer(msg_id, seconds=6)
            return channels
    raise AssertionError("JupyterLab would still wait for the kernel's info")


def test_restart_soon_after_opening(lab, lab_rest, session):
    kernel_id = session["kernel"]["id"]
    with open_as_chrome(lab, kernel_id) as channels:
        channels.run("kept = 1")
        response = lab_rest.post(f"/api/kernels/{kernel_id}/restart", data="{}")
        assert response.status_code == 200, response.text
    with open_as_chrome(lab, kernel_id) as channels:
        assert channels.run("'kept' in globals()").text == "False"


def test_interrupt(lab, lab_rest, session):
    kernel_id = session["kernel"]["id"]
    with Channels(lab, kernel_id, session_id="lab") as channels:
        msg_id = channels.execute("print('on', flush=True)\nwhile True: pass")
        channels.until_kind("stream", msg_id)
        assert lab_rest.post(f"/api/kernels/{kernel_id}/interrupt").status_code == 204
        assert channels.answer(msg_id).content["ename"] == "KeyboardInterrupt"


def test_cuts_between_it_and_the_gateway(serve, tmp_path):
    """JupyterLab's own link stays; its server connects again, and nothing is lost or repeated."""
    chance, count = random.Random(20261130), 1500
    kinds = chance.choices(cutter.KINDS, k=12)
    cuts = [cutter.Cut(kind, chance.randrange(300, 30000)) for kind in kinds]
    code = f"import time\nfor i in range({count}):\n    print(i, flush=True)\n    time.sleep(0.002)"
    quick = "--GatewayClient.gateway_retry_interval=0.1"
    with cutter.Cutter(serve, cuts) as proxy:
        with jupyter_server(tmp_path, proxy.url, serve.token, quick) as lab:
            kernel_id = Rest(lab).start_kernel()
            with Channels(lab, kernel_id, session_id="lab") as channels:
                answer = channels.run(code)
            Rest(lab).end_kernel(kernel_id)
    assert answer.text == "".join(f"{i}\n" for i in range(count))
    assert answer.content["status"] == "ok" and answer.states[-1] == "idle"
    assert answer.kinds.count("execute_input") == 1
    assert len(proxy.done) == len(cuts)


def test_a_kernel_that_is_gone(serve, lab_rest, session):
    """Deleted behind its back: it notices by the list, and asks once more to be sure."""
    kernel_id = session["kernel"]["id"]
    Rest(serve).end_kernel(kernel_id)
    deadline = time.monotonic() + PATIENCE_S
    while kernel_id in lab_rest.kernel_ids():
        assert time.monotonic() < deadline
    assert lab_rest.get(f"/api/kernels/{kernel_id}").status_code == 404


def test_shutdown(serve, lab_rest, session):
    kernel_id = session["kernel"]["id"]
    assert lab_rest.delete(f"/api/sessions/{session['id']}").status_code == 204
    assert kernel_id not in Rest(serve).kernel_ids()
