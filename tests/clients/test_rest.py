"""The REST endpoints of the Jupyter face: exact statuses, headers and keys (the answers that
JupyterLab, GatewayClient, AutoGen and smolagents depend on)."""

import json
import uuid

import kernelspecs
import pytest
import requests
from channels import PATIENCE_S, Channels
from rest import LAST_ACTIVITY, check_error, check_model

NOBODY = str(uuid.uuid4())


def test_api_names_a_version(rest):
    response = rest.get("/api")
    assert response.status_code == 200
    assert isinstance(response.json()["version"], str)


def check_status(body):
    assert LAST_ACTIVITY.fullmatch(body["started"])
    assert LAST_ACTIVITY.fullmatch(body["last_activity"])
    assert body["started"] <= body["last_activity"]
    assert type(body["kernels"]) is int and type(body["connections"]) is int


def test_status(serve, rest, kernel_id):
    """jupyter-mcp-server polls it until it is 200, with the token in the query."""
    url = f"{serve.url}/api/status?token={serve.token}"
    response = requests.get(url, timeout=PATIENCE_S)
    assert response.status_code == 200
    check_status(response.json())
    assert response.json()["kernels"] == len(rest.kernel_ids())
    with Channels(serve, kernel_id) as one, Channels(serve, kernel_id) as two:
        one.run("1")
        two.run("1")
        body = rest.get("/api/status").json()
        check_status(body)
        assert body["connections"] == 2
        assert body["last_activity"] >= response.json()["last_activity"]


def test_me(rest):
    question = {"permissions": json.dumps({"kernels": ["read", "execute"], "contents": []})}
    response = rest.get("/api/me", params=question)
    assert response.status_code == 200
    body = response.json()
    assert {"username", "name", "display_name", "initials", "avatar_url", "color"} == set(
        body["identity"]
    )
    assert body["permissions"]["kernels"] == ["read", "execute"]
    assert rest.get("/api/me?1732945678901").json()["identity"] == body["identity"]
    check_error(rest.get("/api/me?permissions=[1]"), 400)


# -- kernelspecs ----------------------------------------------------------------------------------


def check_kernelspec(model, name):
    """What @jupyterlab/services validates; it drops a kernelspec that fails."""
    assert model["name"] == name
    assert isinstance(model["resources"], dict)
    spec = model["spec"]
    assert isinstance(spec["argv"], list)
    assert isinstance(spec["language"], str) and isinstance(spec["display_name"], str)
    assert isinstance(spec["env"], dict) and isinstance(spec["metadata"], dict)
    assert spec["interrupt_mode"] in ("signal", "message")


def test_kernelspecs(rest):
    response = rest.get("/api/kernelspecs")
    assert response.status_code == 200
    body = response.json()
    assert body["default"] in body["kernelspecs"]
    for name, model in body["kernelspecs"].items():
        check_kernelspec(model, name)
    assert body["kernelspecs"]["python3"]["spec"]["language"] == "python"


@pytest.mark.parametrize("name", ["python3", "%70ython3"])
def test_one_kernelspec(rest, name):
    response = rest.get(f"/api/kernelspecs/{name}")
    assert response.status_code == 200
    check_kernelspec(response.json(), "python3")


@pytest.mark.parametrize("query", ["?1732945678901", "?user=alice", "?a=b&a=%zz&&="])
def test_unknown_query_is_ignored(rest, query):
    assert rest.get("/api/kernelspecs" + query).status_code == 200


def test_resources_are_named(rest):
    resources = rest.get("/api/kernelspecs/python3").json()["resources"]
    assert resources["logo-64x64"] == "/kernelspecs/python3/logo-64x64.png"
    assert resources["logo-svg"] == "/kernelspecs/python3/logo-svg.svg"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "name, mime, data",
    [
        ("logo-64x64.png", "image/png", kernelspecs.LOGO),
        ("logo-svg.svg", "image/svg+xml", kernelspecs.LOGO_SVG),
    ],
)
def test_resource(rest, method, name, mime, data):
    response = rest.request(method, f"/kernelspecs/python3/{name}")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == mime
    assert int(response.headers["Content-Length"]) == len(data)
    assert response.content == (data if method == "GET" else b"")
    caching = "max-age=2592000" if mime == "image/png" else "no-cache"
    assert caching in response.headers["Cache-Control"]
    tag = response.headers["ETag"]
    again = rest.get(f"/kernelspecs/python3/{name}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)


# -- kernels --------------------------------------------------------------------------------------


def check_created(rest, response):
    assert response.status_code == 201, response.text
    model = response.json()
    check_model(model)
    assert response.headers["Location"] == f"/api/kernels/{model['id']}"
    rest.end_kernel(model["id"])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"json": {"name": "python3"}}, id="name"),
        pytest.param({"json": {"name": "python3", "env": {"KERNEL_USERNAME": "u"}}}, id="env"),
        pytest.param({"json": {"name": "python3", "path": None}}, id="null path"),
        pytest.param({"json": {"name": "python3", "path": "folder/n.ipynb"}}, id="path"),
        pytest.param({"json": {}}, id="no name"),
        pytest.param({}, id="empty body"),
        pytest.param({"data": '{"name": "python3"}'}, id="no content type"),
        pytest.param(
            {
                "data": '{"name": "python3"}',
                "headers": {"Content-Type": "text/plain;charset=UTF-8"},
            },
            id="text/plain",
        ),
    ],
)
def test_post_kernels(rest, body):
    check_created(rest, rest.post("/api/kernels", **body))


def test_doubled_slash(rest):
    check_created(rest, rest.post("//api/kernels", json={"name": "python3"}))


def test_post_answers_with_starting(rest):
    model = rest.post("/api/kernels", json={"name": "python3"}).json()
    assert model["execution_state"] == "starting"
    assert model["name"] == "python3"
    assert model["connections"] == 0
    rest.end_kernel(model["id"])


@pytest.mark.parametrize(
    "data, status",
    [
        ("{", 400),
        ('{"name": "python3"} x', 400),
        ("[]", 400),
        ('"python3"', 400),
        ('{"name": 3}', 400),
        ('{"name": "python3", "env": []}', 400),
        ('{"name": "python3", "env": {"KERNEL_A": 1}}', 400),
        ('{"name": "nothing-of-that-name"}', 404),
        ('{"name": "../python3"}', 404),
    ],
)
def test_post_refused(rest, data, status):
    before = rest.kernel_ids()
    check_error(rest.post("/api/kernels", data=data), status)
    assert rest.kernel_ids() == before


def test_model_and_list(rest, kernel_id):
    check_model(rest.kernel(kernel_id), kernel_id)
    response = rest.get("/api/kernels?1732945678901")
    assert response.status_code == 200
    models = {model["id"]: model for model in response.json()}
    check_model(models[kernel_id], kernel_id)


def test_connections_count_the_sockets(serve, rest, kernel_id):
    with Channels(serve, kernel_id) as one, Channels(serve, kernel_id) as two:
        one.run("1")
        two.run("1")
        assert rest.kernel(kernel_id)["connections"] == 2
        assert one.socket.connected and two.socket.connected


def test_delete_twice(rest):
    kernel_id = rest.start_kernel()
    first = rest.delete(f"/api/kernels/{kernel_id}")
    assert (first.status_code, first.content) == (204, b"")
    check_error(rest.delete(f"/api/kernels/{kernel_id}"), 404)
    check_error(rest.get(f"/api/kernels/{kernel_id}"), 404)
    assert kernel_id not in rest.kernel_ids()


@pytest.mark.parametrize("body", [{}, {"data": "{}"}], ids=["no body", "empty object"])
def test_restart_answers_with_the_model(rest, kernel_id, body):
    response = rest.post(f"/api/kernels/{kernel_id}/restart", **body)
    assert response.status_code == 200, response.text
    check_model(response.json(), kernel_id)


@pytest.mark.parametrize("body", [{}, {"data": "{}"}], ids=["no body", "empty object"])
def test_interrupt_answers_with_nothing(serve, rest, kernel_id, body):
    with Channels(serve, kernel_id) as channels:
        channels.run("1")
    response = rest.post(f"/api/kernels/{kernel_id}/interrupt", **body)
    assert (response.status_code, response.content) == (204, b"")


# -- preflight ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/kernelspecs",
        "/api/kernels",
        f"/api/kernels/{NOBODY}",
        f"/api/kernels/{NOBODY}/restart",
        f"/api/kernels/{NOBODY}/interrupt",
        f"/api/kernels/{NOBODY}/channels",
        "/kernelspecs/python3/logo-64x64.png",
    ],
)
def test_preflight_needs_no_token(serve, path):
    assert requests.options(serve.url + path, timeout=PATIENCE_S).status_code in (200, 204)


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", f"/api/kernels/{NOBODY}", 404),
        ("DELETE", f"/api/kernels/{NOBODY}", 404),
        ("POST", f"/api/kernels/{NOBODY}/restart", 404),
        ("POST", f"/api/kernels/{NOBODY}/interrupt", 404),
        ("GET", f"/api/kernels/{NOBODY}/channels", 404),
        ("GET", "/api/kernels/not-an-id", 404),
        ("GET", "/api/kernelspecs/nothing-of-that-name", 404),
        ("GET", "/kernelspecs/nothing-of-that-name/logo-64x64.png", 404),
        ("GET", "/kernelspecs/python3/no-such-file.png", 404),
        ("GET", "/kernelspecs/python3/..%2f..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/api/contents/", 404),
        ("PUT", "/api/contents/folder/a.ipynb", 404),
        ("PATCH", "/api/contents/a.ipynb", 404),
        ("POST", "/api/contents", 404),
        ("DELETE", "/api/contents/a.ipynb", 404),
        ("GET", "/nothing", 404),
        ("GET", "/", 404),
        ("PUT", "/api/kernels", 405),
        ("DELETE", "/api/kernelspecs", 405),
        ("GET", f"/api/kernels/{NOBODY}/restart", 405),
    ],
)
def test_errors_have_reason_and_message(rest, method, path, status):
    check_error(rest.request(method, path), status)


def test_channels_without_an_upgrade(rest, kernel_id):
    check_error(rest.get(f"/api/kernels/{kernel_id}/channels"), 400, 426)
