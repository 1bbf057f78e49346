"""/api/sessions: paths by which clients find their kernels again.

JupyterLab and VS Code use them where they have no jupyter_server of their own."""

import threading
import uuid

import cellblock
import pytest
from channels import PATIENCE_S
from rest import Rest, check_error, check_model, check_session

NOBODY = str(uuid.uuid4())


@pytest.fixture(scope="module")
def serve():
    """Kernels that start in no time."""
    with cellblock.Serve("--default-kernel", "echo", "--max-session-names", "4") as server:
        yield server


@pytest.fixture
def sessions(serve):
    """rest.Rest; what the test leaves is ended after it."""
    rest = Rest(serve)
    yield rest
    for model in rest.get("/api/sessions").json():
        # 410 where another one had the same kernel
        assert rest.delete(f"/api/sessions/{model['id']}").status_code in (204, 410)
    for kernel_id in rest.kernel_ids():
        rest.end_kernel(kernel_id)


def create(rest, path="a.ipynb", kind="notebook", **body):
    """The model of a session."""
    response = rest.post("/api/sessions", json={"path": path, "type": kind, **body})
    assert response.status_code == 201, response.text
    model = response.json()
    assert response.headers["Location"] == f"/api/sessions/{model['id']}"
    check_session(model)
    return model


def patch(rest, model, **body):
    response = rest.request("PATCH", f"/api/sessions/{model['id']}", json=body)
    assert response.status_code == 200, response.text
    check_session(response.json())
    return response.json()


def paths(rest):
    models = rest.get("/api/sessions").json()
    for model in models:
        check_session(model)
    return [model["path"] for model in models]


def test_create_get_list(sessions):
    assert paths(sessions) == []
    model = create(sessions, name="a")
    assert model["notebook"] == {"path": "a.ipynb", "name": "a"}
    response = sessions.get(f"/api/sessions/{model['id']}?1732945678901")
    assert response.status_code == 200
    assert response.json()["kernel"]["id"] == model["kernel"]["id"]
    assert paths(sessions) == ["a.ipynb"]
    assert sessions.kernel_ids() == {model["kernel"]["id"]}


def test_same_path_is_the_same_session(sessions):
    """However many ask at once: one kernel."""
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(create(sessions)["id"])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(found) == 8 and len(set(found)) == 1
    assert len(sessions.kernel_ids()) == 1


def test_text_plain(sessions):
    """What @jupyterlab/services sends."""
    data = '{"path": "a", "type": "console", "kernel": {"name": "echo"}}'
    headers = {"Content-Type": "text/plain;charset=UTF-8"}
    response = sessions.post("/api/sessions", data=data, headers=headers)
    assert response.status_code == 201


def test_unknown_kernelspec(sessions):
    body = {"path": "a", "type": "notebook", "kernel": {"name": "nothing-of-that-name"}}
    error = check_error(sessions.post("/api/sessions", json=body), 501)
    assert error["short_message"] == "nothing-of-that-name not found"
    assert paths(sessions) == [] and sessions.kernel_ids() == set()


def test_limits_go_to_the_kernel(sessions):
    model = create(sessions, cellblock={"limits": {"pids": 50}})
    assert model["kernel"]["cellblock"]["limits"]["pids"] == 50


def test_kernel_by_id(sessions):
    """A console for a notebook's kernel; and an id that its client chose."""
    notebook = create(sessions)
    console = create(sessions, "console", "console", kernel={"id": notebook["kernel"]["id"]})
    assert console["kernel"]["id"] == notebook["kernel"]["id"]
    chosen = str(uuid.uuid1())
    assert create(sessions, "b", kernel={"id": chosen})["kernel"]["id"] == chosen
    assert sessions.kernel_ids() == {notebook["kernel"]["id"], chosen}


def test_patch(sessions):
    model = create(sessions)
    assert patch(sessions, model, path="b.ipynb", name="b")["path"] == "b.ipynb"
    assert "notebook" not in patch(sessions, model, type="console")
    after = patch(sessions, model, kernel={"name": "echo"})
    assert after["kernel"]["id"] != model["kernel"]["id"]
    assert sessions.kernel_ids() == {after["kernel"]["id"]}
    other = sessions.start_kernel(name="echo")
    assert patch(sessions, model, kernel={"id": other})["kernel"]["id"] == other
    assert sessions.kernel_ids() == {other}
    for kernel, status in ({"id": NOBODY}, 400), ({"name": "nothing"}, 501):
        url = f"/api/sessions/{model['id']}"
        check_error(sessions.request("PATCH", url, json={"kernel": kernel}), status)
    assert sessions.kernel_ids() == {other}


def test_delete_ends_the_kernel(sessions):
    model = create(sessions)
    url = f"/api/sessions/{model['id']}"
    response = sessions.delete(url)
    assert (response.status_code, response.content) == (204, b"")
    check_error(sessions.get(f"/api/kernels/{model['kernel']['id']}"), 404)
    for method in "GET", "PATCH", "DELETE":
        check_error(sessions.request(method, url, json={}), 404)


def test_kernel_goes_first(sessions):
    model = create(sessions)
    url = f"/api/sessions/{model['id']}"
    sessions.end_kernel(model["kernel"]["id"])
    assert paths(sessions) == []
    check_error(sessions.get(url), 404)
    check_error(sessions.request("PATCH", url, json={"path": "b"}), 404)
    check_error(sessions.delete(url), 410)
    check_error(sessions.delete(url), 404)
    assert create(sessions)["id"] != model["id"]


def test_restart_keeps_the_session(sessions):
    model = create(sessions)
    kernel_id = model["kernel"]["id"]
    assert sessions.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    response = sessions.get(f"/api/sessions/{model['id']}")
    check_model(response.json()["kernel"], kernel_id)


def test_bounded(sessions):
    """max_session_names is 4 here; sessions without a kernel make room."""
    models = [create(sessions, f"{number}") for number in range(4)]
    body = {"path": "more", "type": "notebook"}
    error = check_error(sessions.post("/api/sessions", json=body), 403)
    assert error["code"] == "max_session_names" and "max_session_names" in error["message"]
    assert len(sessions.kernel_ids()) == 4
    sessions.end_kernel(models[1]["kernel"]["id"])
    create(sessions, "more")
    assert paths(sessions) == ["0", "2", "3", "more"]
    error = check_error(
        sessions.request("PATCH", f"/api/sessions/{models[0]['id']}", json={"path": "x" * 4097}),
        400,
    )
    assert error["code"] == "session_name_too_large" and "4096" in error["message"]
