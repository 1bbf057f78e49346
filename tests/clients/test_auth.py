"""Every way in which clients send a token, on REST and on the WebSocket; and every wrong one."""

import json
import types

import pytest
import requests
import websocket
from channels import PATIENCE_S, Channels
from rest import check_error


def forms(token):
    """name -> (URL prefix, headers, query) of each form that must be accepted."""
    return {
        "token": ("", {"Authorization": f"token {token}"}, ""),
        "Token": ("", {"Authorization": f"Token {token}"}, ""),
        "Bearer": ("", {"Authorization": f"Bearer {token}"}, ""),
        "bearer": ("", {"Authorization": f"bearer {token}"}, ""),
        "spaces": ("", {"Authorization": f"Bearer   {token}"}, ""),
        "query": ("", {}, f"?token={token}"),
        "query after another": ("", {}, f"?1732945678901&token={token}"),
        "prefix": (f"/t/{token}", {}, ""),
        "prefix and empty query": (f"/t/{token}", {}, "?token="),
        "prefix and empty header": (f"/t/{token}", {"Authorization": "token "}, ""),
        "header and empty query": ("", {"Authorization": f"token {token}"}, "?token="),
    }


def wrong_forms(token):
    return {
        "nothing": ("", {}, ""),
        "empty header": ("", {"Authorization": "token "}, ""),
        "scheme alone": ("", {"Authorization": "token"}, ""),
        "empty query": ("", {}, "?token="),
        "wrong header": ("", {"Authorization": "token wrong"}, ""),
        "wrong bearer": ("", {"Authorization": "Bearer wrong"}, ""),
        "basic": ("", {"Authorization": f"Basic {token}"}, ""),
        "bare": ("", {"Authorization": token}, ""),
        "wrong query": ("", {}, "?token=wrong"),
        "a part of it": ("", {}, f"?token={token[:-1]}"),
        "more than it": ("", {}, f"?token={token}0"),
        "wrong prefix": ("/t/0123456789abcdef", {}, ""),
        "a part as prefix": (f"/t/{token[:-1]}", {}, ""),
        "empty prefix": ("/t/", {}, ""),
    }


NAMES = types.SimpleNamespace(right=list(forms("")), wrong=list(wrong_forms("xx")))


@pytest.mark.parametrize("name", NAMES.right)
def test_rest_lets_in(serve, name):
    prefix, headers, query = forms(serve.token)[name]
    url = f"{serve.url}{prefix}/api/kernels{query}"
    assert requests.get(url, headers=headers, timeout=PATIENCE_S).status_code == 200


@pytest.mark.parametrize("name", NAMES.wrong)
def test_rest_keeps_out(serve, name):
    prefix, headers, query = wrong_forms(serve.token)[name]
    url = f"{serve.url}{prefix}/api/kernels{query}"
    response = requests.get(url, headers=headers, timeout=PATIENCE_S)
    # An empty prefix is no prefix: that path may also be unknown.
    check_error(response, 401, 403, *([404] if name == "empty prefix" else []))
    assert serve.token not in response.text


@pytest.mark.parametrize("path", ["/api/kernelspecs", "/api/kernels/x", "/kernelspecs/python3/x"])
def test_every_route_keeps_out(serve, path):
    check_error(requests.get(serve.url + path, timeout=PATIENCE_S), 401, 403)


def test_nothing_starts_without_a_token(serve, rest):
    before = rest.kernel_ids()
    check_error(requests.post(f"{serve.url}/api/kernels", timeout=PATIENCE_S), 401, 403)
    assert rest.kernel_ids() == before


def open_socket(serve, kernel_id, prefix, headers, query):
    url = f"{serve.ws_url}{prefix}/api/kernels/{kernel_id}/channels{query}"
    return websocket.create_connection(url, header=headers, timeout=PATIENCE_S)


@pytest.mark.parametrize("name", NAMES.right)
def test_websocket_lets_in(serve, kernel_id, name):
    open_socket(serve, kernel_id, *forms(serve.token)[name]).close()


@pytest.mark.parametrize("name", NAMES.wrong)
def test_websocket_keeps_out(serve, kernel_id, name):
    with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
        open_socket(serve, kernel_id, *wrong_forms(serve.token)[name])
    assert refusal.value.status_code in (401, 403, *([404] if name == "empty prefix" else []))
    body = json.loads(refusal.value.resp_body)
    assert body["reason"] and isinstance(body["message"], str)


def test_a_whole_session_behind_the_prefix(serve, rest):
    """smolagents' way: an empty ?token= beside the prefix, from the first request to the last."""
    base = f"{serve.url}/t/{serve.token}/"
    reply = requests.post(f"{base}/api/kernels?token=", timeout=PATIENCE_S)
    assert reply.status_code == 201
    kernel_id = reply.json()["id"]
    behind = types.SimpleNamespace(token="", ws_url=serve.ws_url + f"/t/{serve.token}")
    with Channels(behind, kernel_id) as channels:
        assert channels.run("print(6 * 7)").text == "42\n"
    deleted = requests.delete(f"{base}api/kernels/{kernel_id}", timeout=PATIENCE_S)
    assert deleted.status_code == 204
