"""rest - the REST half of a server under test: plain requests that check nothing by themselves.

A server is anything with `url` and `token`, and `trust` where it has TLS. Paths are sent as they
stand ("//api" stays "//api").
"""

import re

import requests
from cellblock import wait_until
from channels import PATIENCE_S

MODEL_KEYS = {"id", "name", "last_activity", "execution_state", "connections"}
# What GatewayKernelManager.refresh_model gives strptime: fraction and Z are mandatory.
LAST_ACTIVITY = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z")


class Rest:
    def __init__(self, server, headers=None):
        self.server = server
        token = {"Authorization": f"token {server.token}"}
        self.headers = token if headers is None else headers

    def request(self, method, path, headers=None, **options):
        headers = {**self.headers, **(headers or {})}
        options.setdefault("timeout", PATIENCE_S)
        if trust := getattr(self.server, "trust", None):
            options.setdefault("verify", str(trust))
        return requests.request(method, self.server.url + path, headers=headers, **options)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    # -- kernels --------------------------------------------------------------------------------

    def start_kernel(self, **body):
        """The id of a new kernel."""
        response = self.post("/api/kernels", json={"name": "python3", **body})
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def kernel(self, kernel_id):
        response = self.get(f"/api/kernels/{kernel_id}")
        assert response.status_code == 200, response.text
        return response.json()

    def kernel_ids(self):
        return {model["id"] for model in self.get("/api/kernels").json()}

    def end_kernel(self, kernel_id):
        response = self.delete(f"/api/kernels/{kernel_id}")
        assert response.status_code == 204, response.text

    def await_state(self, kernel_id, state):
        """Waits until the model says so: it may trail the message that the client saw."""

        def reached():
            return self.kernel(kernel_id)["execution_state"] == state

        wait_until(reached, PATIENCE_S, f"kernel {kernel_id} {state}")


def check_model(model, kernel_id=None):
    """The kernel model as clients index and parse it."""
    assert MODEL_KEYS <= set(model) <= MODEL_KEYS | {"reason", "cellblock"}, model
    assert LAST_ACTIVITY.fullmatch(model["last_activity"]), model
    assert type(model["connections"]) is int, model
    assert kernel_id in (None, model["id"])


def check_session(model):
    """The session model that @jupyterlab/services validates, and what older clients index."""
    assert {"id", "path", "name", "type", "kernel"} <= set(model), model
    assert all(isinstance(model[key], str) for key in ("id", "path", "name", "type")), model
    check_model(model["kernel"])
    old = {"path": model["path"], "name": model["name"]}
    assert model.get("notebook") == (old if model["type"] == "notebook" else None), model


def check_error(response, *statuses):
    """An error as GatewayClient and JupyterLab read it: both words, and never a traceback."""
    assert response.status_code in statuses, (response.status_code, response.text)
    assert response.headers["Content-Type"].startswith("application/json"), response.headers
    body = response.json()
    assert isinstance(body["reason"], str) and body["reason"], body
    assert isinstance(body["message"], str), body
    assert "Traceback" not in response.text
    return body
