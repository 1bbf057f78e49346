"""A gateway whose paths begin with one of its own, as behind a proxy that hands on no other."""

import cellblock
import pytest
import requests
from channels import PATIENCE_S, Channels
from notebooks import results, run_notebooks
from rest import check_error

BASE = "/some/base"


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve("--base-url", f"{BASE}/", kernels=kernels) as server:
        yield server


def test_what_it_tells_begins_with_it(serve, rest):
    assert serve.url.endswith(BASE)
    response = rest.post("/api/kernels", json={"name": "python3"})
    kernel_id = response.json()["id"]
    assert response.headers["Location"] == f"{BASE}/api/kernels/{kernel_id}"
    body = {"path": "a.ipynb", "type": "notebook", "kernel": {"id": kernel_id}}
    session = rest.post("/api/sessions", json=body)
    assert session.headers["Location"] == f"{BASE}/api/sessions/{session.json()['id']}"
    resources = rest.get("/api/kernelspecs/python3").json()["resources"]
    assert resources["logo-64x64"] == f"{BASE}/kernelspecs/python3/logo-64x64.png"
    root = serve.url.removesuffix(BASE)
    logo = requests.get(root + resources["logo-64x64"], headers=rest.headers, timeout=PATIENCE_S)
    assert logo.content.startswith(b"\x89PNG")
    with Channels(serve, kernel_id) as channels:
        assert channels.run("6 * 7").text == "42"
    rest.end_kernel(kernel_id)


@pytest.mark.parametrize("path", ["/api", "/some", "/some/basement/api", "/t/TOKEN/some/base/api"])
def test_nothing_is_outside_of_it(serve, rest, path):
    url = serve.url.removesuffix(BASE) + path.replace("TOKEN", serve.token)
    response = requests.get(url, headers=rest.headers, timeout=PATIENCE_S)
    assert f"{BASE}/" in check_error(response, 404)["message"]


def test_the_description_stands_beside_what_it_describes(serve):
    """A server's URL there counts from where the description is (OpenAPI 3.1, 4.8.5)."""
    found = f"{serve.url}/api/swagger.json"
    description = requests.get(found, timeout=PATIENCE_S).json()
    served = requests.compat.urljoin(found, description["servers"][0]["url"])
    assert served == f"{serve.url}/"


def test_nbclient_by_the_prefix(serve, tmp_path):
    url = f"{serve.url}/t/{serve.token}/"
    run = run_notebooks(tmp_path, "gateway", {"one": ["6 * 7"]}, JUPYTER_GATEWAY_URL=url)
    error, notebook = run["one"]
    assert error is None
    assert results(notebook)[0][1][0]["data"]["text/plain"] == "42"
