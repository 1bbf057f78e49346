"""Kernelspecs that come, go and break while the server runs."""

import json
import os
import shutil
import signal

import cellblock
import pytest
import rude


@pytest.fixture
def folder(kernels, tmp_path):
    """A folder of kernelspecs of the test's own, with echo in it."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copytree(kernels / "echo", folder / "echo")
    return folder


def names(serve):
    status, answer = serve.request("GET", "/api/kernelspecs")
    assert status == 200
    return set(answer["kernelspecs"])


def read_again(serve, wanted, without=()):
    """SIGHUP, and the wait for what it must change."""
    serve.process.send_signal(signal.SIGHUP)

    def fits():
        there = names(serve)
        return set(wanted) <= there and not there & set(without)

    cellblock.wait_until(fits, rude.PATIENCE_S, f"kernelspecs {wanted}, not {without}")


def test_added_and_removed(start_serve, folder):
    serve = start_serve(kernels=folder)
    first = rude.start(serve)
    for i in range(20):
        shutil.copytree(folder / "echo", folder / f"more-{i}")
    read_again(serve, {f"more-{i}" for i in range(20)})
    second = rude.start(serve, "more-7")
    with rude.Rude(serve, second) as client:
        assert client.run("x")["status"] == "ok"
    for i in range(20):
        shutil.rmtree(folder / f"more-{i}")
    read_again(serve, {"echo"}, {f"more-{i}" for i in range(20)})
    assert serve.request("POST", "/api/kernels", {"name": "more-7"})[0] == 404
    with rude.Rude(serve, first) as client:
        assert client.run("x")["status"] == "ok"
        assert serve.request("POST", f"/api/kernels/{first}/restart")[0] == 200
        assert client.run("x")["status"] == "ok"
    with rude.Rude(serve, second) as client:  # it lives as long as it is not started again
        assert client.run("x")["status"] == "ok"
        status, answer = serve.request("POST", f"/api/kernels/{second}/restart")
        assert status == 500 and "kernelspec" in answer["message"]
    shutil.copytree(folder / "echo", folder / "more-7")
    read_again(serve, {"more-7"})
    assert serve.request("POST", f"/api/kernels/{second}/restart")[0] == 200


def write(text):
    return lambda path: path.write_text(text)


def link_to(target):
    def act(path):
        path.unlink()
        path.symlink_to(target)

    return act


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def make_folder(path):
    path.unlink()
    path.mkdir()


def edit(**members):
    def act(path):
        content = json.loads(path.read_text())
        content.update(members)
        path.write_text(json.dumps(content))

    return act


BROKEN = {
    "empty": write(""),
    "cut": write('{"argv": ["x", '),
    "list": write("[]"),
    "deep": write("[" * 100_000),
    "huge": write(" " * (2 << 20)),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "link to itself": link_to("kernel.json"),
    "link to nowhere": link_to("/nowhere"),
    "link to a device": link_to("/dev/zero"),
    "link to a secret": link_to("/etc/shadow"),
    "fifo": make_fifo,
    "folder": make_folder,
    "gone": lambda path: path.unlink(),
    "no argv": edit(argv=[]),
    "argv of numbers": edit(argv=[1, 2]),
    "argv with NUL": edit(argv=["/bin/\0"]),
    "long argv": edit(argv=["x"] * 5000),
    "env of numbers": edit(env={"A": 1}),
    "no language": edit(language=None),
    "no name": edit(display_name=3),
    "metadata a list": edit(metadata=[]),
    "trees of the host": edit(metadata={"cellblock": {"trees": ["/"]}}),
    "trees of a home": edit(metadata={"cellblock": {"trees": ["/root"]}}),
    "parameters a list": edit(metadata={"cellblock": []}),
    "a parameter nobody knows": edit(metadata={"cellblock": {"memory": 1}}),
    "a limit above the maximum": edit(metadata={"cellblock": {"limits": {"pids": 32768}}}),
    "a folder nobody has": edit(metadata={"cellblock": {"data": ["sets"]}}),
    "more variables than fit": edit(
        metadata={"cellblock": {"env": {f"V{i}": "x" * 4000 for i in range(20)}}}
    ),
}


@pytest.fixture(scope="module")
def shared(kernels, tmp_path_factory):
    """(server, folder) of all tests that break one kernelspec and mend it again."""
    folder = tmp_path_factory.mktemp("shared")
    shutil.copytree(kernels / "echo", folder / "echo")
    with cellblock.Serve(kernels=folder) as serve:
        yield serve, folder


@pytest.mark.parametrize("how", BROKEN)
def test_broken(shared, how):
    """One that breaks is left out, the others stay; mended, it is there again."""
    serve, folder = shared
    shutil.copytree(folder / "echo", folder / "breaks")
    read_again(serve, {"breaks"})
    kernel_id = rude.start(serve, "breaks")
    with rude.Rude(serve, kernel_id) as client:
        assert client.run("before")["status"] == "ok"
        BROKEN[how](folder / "breaks" / "kernel.json")
        assert client.run("nobody read it yet")["status"] == "ok"
        read_again(serve, {"echo"}, {"breaks"})
        assert client.run("after")["status"] == "ok"
    rude.end(serve, kernel_id)
    shutil.rmtree(folder / "breaks")
    read_again(serve, {"echo"}, {"breaks"})


def test_programs_that_cannot_run(start_serve, folder):
    """A kernelspec is good, and what it runs is not: each says why."""
    programs = {
        "absent": ["/nowhere/x"],
        "folder": ["/usr"],
        "text": ["{resource_dir}/kernel.json"],
        "relative": ["./x"],
        "word": ["no-such-word"],
        "brace": ["{unknown}"],
    }
    for name, argv in programs.items():
        shutil.copytree(folder / "echo", folder / name)
        edit(argv=argv)(folder / name / "kernel.json")
    serve = start_serve(kernels=folder)
    for name in programs:
        with rude.Rude(serve, rude.start(serve, name)) as client:
            reply = client.run("x")
            assert reply["ename"] == "KernelStartFailed", reply
            assert f"start kernel {name}: run its program: " in reply["evalue"]


def test_variables_that_double(start_serve, folder):
    """Each names the one before twice: forty of them would fill any memory."""
    shutil.copytree(folder / "echo", folder / "doubles")
    env = {"A0": "x" * 256, **{f"A{i}": f"${{A{i - 1}}}${{A{i - 1}}}" for i in range(1, 41)}}
    edit(env=env)(folder / "doubles" / "kernel.json")
    serve = start_serve(kernels=folder)
    before = rude.resident_kib(serve.pid)
    with rude.Rude(serve, rude.start(serve, "doubles")) as client:
        reply = client.run("x")
        assert reply["ename"] == "KernelStartFailed" and "1048576 bytes" in reply["evalue"]
    assert rude.resident_kib(serve.pid) - before < 64 * 1024
    with rude.Rude(serve, rude.start(serve)) as client:
        assert client.run("x")["status"] == "ok"


def test_read_again_and_again(start_serve, folder):
    """Twenty readings while kernels start; nothing of them stays open."""
    serve = start_serve(kernels=folder)
    first = rude.start(serve)
    with rude.Rude(serve, first) as client:
        client.run("ready")
        before = (rude.descriptors(serve.gateway_pid), rude.descriptors(serve.pid))
        for _ in range(20):
            serve.process.send_signal(signal.SIGHUP)
            kernel_id = rude.start(serve)
            rude.end(serve, kernel_id)

        def is_as_before():
            return (rude.descriptors(serve.gateway_pid), rude.descriptors(serve.pid)) == before

        cellblock.wait_until(is_as_before, rude.PATIENCE_S, f"descriptors {before}")
        assert client.run("after")["status"] == "ok"
