"""A process that may open few files: strangers who hold connections open cost no session its
kernel, and kernels cost nobody a connection."""

import cellblock
import pytest
import rude

LIMIT = 400


@pytest.fixture
def narrow(start_serve, kernels):
    """A server with room for 15 kernels and 120 connections."""
    program = [cellblock.BUILD / "cellblock", "serve", "--http-idle-ms", "1h"]
    command = ["prlimit", f"--nofile={LIMIT}:{LIMIT}", *program]
    server = start_serve(command=command, kernels=kernels)
    assert f"the limit of open files, {LIMIT}, is too low for max_kernels = 300" in server.log()
    return server


def hold_connections(server):
    """More connections than there may be, which say nothing; the last one is sent away."""
    wires = [rude.Wire(server) for _ in range(LIMIT)]
    assert wires[-1].is_gone()
    return wires


def test_connections_leave_room_for_kernels(narrow):
    with rude.Wire(narrow) as wire:
        assert wire.ask("GET", "/api")[0] == 200
        strangers = hold_connections(narrow)
        kernel_ids = []
        for _ in range(15):
            status, model = wire.ask("POST", "/api/kernels", {"name": "echo"})
            assert status == 201
            kernel_ids.append(model["id"])

        def are_idle():
            _, models = wire.ask("GET", "/api/kernels")
            return {model["execution_state"] for model in models} == {"idle"}

        cellblock.wait_until(are_idle, rude.PATIENCE_S, "all kernels run")
        for stranger in strangers:
            stranger.close()
        for kernel_id in kernel_ids:
            assert wire.ask("DELETE", f"/api/kernels/{kernel_id}")[0] == 204


def test_kernels_leave_room_for_connections(narrow):
    kernel_ids = [rude.start(narrow) for _ in range(15)]
    status, answer = narrow.request("POST", "/api/kernels", {"name": "echo"})
    assert status == 403 and "there are 15 kernels" in answer["message"]
    clients = [rude.Rude(narrow, kernel_id) for kernel_id in kernel_ids]
    clients += [rude.Rude(narrow, kernel_ids[0]) for _ in range(100)]
    for client in clients:
        assert client.run("x")["status"] == "ok"
    for client in clients:
        client.close()
    for kernel_id in kernel_ids:
        rude.end(narrow, kernel_id)


def test_too_few_for_anything(start_serve, kernels):
    program = [cellblock.BUILD / "cellblock", "serve"]
    with pytest.raises(AssertionError, match="serve ended with 1:(.|\n)*at least 256 are needed"):
        start_serve(command=["prlimit", "--nofile=200:200", *program], kernels=kernels)
