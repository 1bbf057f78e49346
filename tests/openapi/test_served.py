"""The description itself: where it is served, and that its operations are routes.def's."""

import json
import re

import cellblock
import pytest
import requests
import routes
import yaml

DOCUMENT = cellblock.ROOT / "gateway" / "jupyter" / "openapi.json"
METHODS = {"get", "put", "post", "patch", "delete", "head", "options", "trace"}


@pytest.fixture(scope="module")
def document():
    return json.loads(DOCUMENT.read_text())


@pytest.mark.parametrize(
    "path, kind",
    [
        ("/api/swagger.json", "application/json"),
        ("/api/swagger.yaml", "text/x-yaml"),
        ("/api/spec.yaml", "text/x-yaml"),
    ],
)
def test_served_to_everyone(serve, document, path, kind):
    response = requests.get(serve.url + path, timeout=60)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == kind
    assert yaml.safe_load(response.text) == document
    head = requests.head(serve.url + path, timeout=60)
    assert (head.status_code, head.headers["Content-Type"]) == (200, kind)


def test_version(serve, document):
    version = requests.get(f"{serve.url}/api", timeout=60).json()["version"]
    assert document["info"]["version"] == version


def operations(document):
    """(method, path, whether a token is asked for, the operation) of each."""
    for path, members in document["paths"].items():
        for method in METHODS & set(members):
            operation = members[method]
            yield method, path, operation.get("security", document["security"]) != [], operation


def test_routes_and_operations_are_the_same(document):
    described = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path), "TOKEN" if asks else "OPEN")
        for method, path, asks, _ in operations(document)
    }
    assert described == {(method, path, access) for method, path, _, access in routes.rows()}


def test_every_operation_says_what_may_go_wrong(document):
    """401 and 403 where a token is asked for, and every error in the one form."""
    error = {"$ref": "#/components/schemas/Error"}
    for method, path, asks, operation in operations(document):
        statuses = set(operation["responses"])
        assert not asks or {"401", "403"} <= statuses, (method, path)
        for status in statuses:
            if int(status) >= 400:
                reference = operation["responses"][status]["$ref"].rpartition("/")[2]
                answer = document["components"]["responses"][reference]
                assert answer["content"]["application/json"]["schema"] == error
