"""Data folders: who sees which, how, and what nobody sees."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import cellblock
import kernelspecs
import pytest
from channels import Channels
from rest import Rest, check_error

# In every host path, and in nothing that a session may see.
SECRET = "s3cr3t-place"

LOOK = """
import json, os
def look(act, *words):
    try:
        return act(*words)
    except OSError as error:
        return error.strerror
def read(path):
    with open(path) as file:
        return file.read()
def write(path):
    with open(path, 'w') as file:
        return file.write('x')
print(json.dumps({expression}))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The host's folders: sets, books and one that goes away."""
    top = tmp_path_factory.mktemp(SECRET)
    for name in ("sets", "books", "leaves"):
        (top / name / "below").mkdir(parents=True)
        (top / name / "word").write_text(name)
        (top / name / "below" / "deep").write_text(f"deep {name}")
    (top / "sets" / "private").write_text("private")
    (top / "sets" / "private").chmod(0o600)
    (top / "sets" / "out").symlink_to(top / "books" / "word")
    (top / "sets" / "within").symlink_to("below/deep")
    return top


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = kernelspecs.write_kernelspecs(tmp_path_factory.mktemp("kernels"), ("python3",))
    kernelspecs.write_kernelspec(
        folder,
        "reader",
        kernelspecs.arguments("python3"),
        metadata={"cellblock": {"data": ["books"]}},
    )
    return folder


@pytest.fixture(scope="module")
def serve(kernels, folders):
    data = [f"--data={name}={folders / name}" for name in ("sets", "books", "leaves")]
    with cellblock.Serve(*data, kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


class Session:
    """A kernel that is asked for the value of expressions."""

    def __init__(self, serve, rest, **body):
        self.rest = rest
        self.kernel_id = rest.start_kernel(**body)
        self.channels = Channels(serve, self.kernel_id)

    def __call__(self, expression):
        answer = self.channels.run(LOOK.replace("{expression}", expression))
        assert answer.content["status"] == "ok", answer.content
        return json.loads(answer.text)

    def end(self):
        self.channels.close()
        self.rest.end_kernel(self.kernel_id)


@pytest.fixture(scope="module")
def sets(serve, rest):
    session = Session(serve, rest, cellblock={"data": ["sets"]})
    yield session
    session.end()


@pytest.fixture(scope="module")
def books(serve, rest):
    session = Session(serve, rest, name="reader")
    yield session
    session.end()


def test_a_cell_reads_it(sets):
    assert sets("look(read, '/data/sets/word')") == "sets"
    assert sets("look(read, '/data/sets/below/deep')") == "deep sets"
    assert sets("look(read, '/data/sets/within')") == "deep sets"


def test_each_sees_its_own_alone(sets, books):
    assert sets("os.listdir('/data')") == ["sets"]
    assert books("os.listdir('/data')") == ["books"]
    assert books("look(read, '/data/books/word')") == "books"


def test_a_request_replaces_what_the_kernelspec_shows(serve, rest):
    body = {"name": "reader", "env": {"KERNEL_CELLBLOCK": json.dumps({"data": ["sets", "leaves"]})}}
    session = Session(serve, rest, **body)
    assert sorted(session("os.listdir('/data')")) == ["leaves", "sets"]
    assert rest.kernel(session.kernel_id)["cellblock"]["data"] == ["sets", "leaves"]
    session.end()


def test_who_asks_for_none_sees_none(serve, rest):
    session = Session(serve, rest)
    assert session("look(os.listdir, '/data')") in ([], "No such file or directory")
    session.end()


@pytest.mark.parametrize("path", ["new", "word", "below/new", "below/deep"])
def test_nobody_writes(sets, folders, path):
    assert sets(f"look(write, '/data/sets/{path}')") == "Read-only file system"
    assert (folders / "sets" / "word").read_text() == "sets"


@pytest.mark.parametrize(
    "call",
    [
        "os.remove, '/data/sets/word'",
        "os.mkdir, '/data/sets/new'",
        "os.rename, '/data/sets/word', '/data/sets/new'",
        "os.chmod, '/data/sets/word', 0o777",
        "os.mkdir, '/data/new'",
    ],
)
def test_nobody_changes(sets, call):
    assert sets(f"look({call})") in ("Read-only file system", "Operation not permitted")


def test_what_the_host_changes_shows(sets, folders):
    (folders / "sets" / "late").write_text("late")
    assert sets("look(read, '/data/sets/late')") == "late"


def test_modes_are_those_of_the_host(sets):
    """Root's 0600 is nobody else's, and a session is somebody else."""
    assert sets("look(read, '/data/sets/private')") == "Permission denied"


def test_a_link_leads_nowhere_else(sets):
    assert sets("look(read, '/data/sets/out')") == "No such file or directory"


def test_a_restart_keeps_them(rest, sets):
    assert rest.post(f"/api/kernels/{sets.kernel_id}/restart").status_code == 200
    assert sets("look(read, '/data/sets/word')") == "sets"


def test_a_folder_of_a_home_may_be_named(start_serve, kernels):
    folder = pathlib.Path("/root") / f"test-data-{SECRET}"
    folder.mkdir()
    try:
        (folder / "word").write_text("of a home")
        server = start_serve(f"--data=own={folder}", kernels=kernels)
        session = Session(server, Rest(server), cellblock={"data": ["own"]})
        assert session("look(read, '/data/own/word')") == "of a home"
        session.end()
    finally:
        shutil.rmtree(folder)


def test_one_that_goes_away(serve, rest, folders):
    """It fails those who ask for it, by its name inside; SIGHUP says so and keeps it."""
    moved = folders / "moved"
    os.rename(folders / "leaves", moved)
    serve.process.send_signal(signal.SIGHUP)
    cellblock.wait_until(
        lambda: "data folder leaves stays as it was: " in serve.log(), 60, "a line in the log"
    )
    kernel_id = rest.start_kernel(cellblock={"data": ["leaves"]})
    with Channels(serve, kernel_id) as channels:
        reply = channels.run("1").content
    assert "/data/leaves: No such file or directory" in reply["evalue"]
    assert SECRET not in json.dumps(reply)
    os.rename(moved, folders / "leaves")
    assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    rest.end_kernel(kernel_id)


@pytest.mark.parametrize(
    "path",
    ["/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats", "/proc/self/environ"],
)
def test_nobody_sees_where_it_lies(sets, path):
    assert SECRET not in sets(f"look(read, {path!r})")


def test_no_mapping_says_where_it_lies(sets):
    mapped = "(f := open('/data/sets/word'), __import__('mmap').mmap(f.fileno(), 0, prot=1))"
    lines = sets(f"({mapped}, read('/proc/self/maps'))[1]")
    assert "/data/sets/word" in lines and SECRET not in lines


def test_no_link_or_answer_says_where_it_lies(rest, sets, folders):
    expression = "os.path.realpath('/data/sets/word'), os.readlink('/proc/self/cwd')"
    assert SECRET not in json.dumps(sets(f"[{expression}]"))
    assert sets("os.stat('/data/sets').st_dev") != os.stat(folders).st_dev
    for page in ("/api/kernels", "/api/kernelspecs", "/api/status"):
        assert SECRET not in rest.get(page).text


def test_one_with_mounts_below_is_whole_and_is_said(start_serve, kernels, folders):
    """No overlay shows what is mounted below it, so it is bound."""
    top = folders / "joined"
    (top / "disk").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "test-data", top / "disk"], check=True)
    try:
        (top / "disk" / "word").write_text("of another disk")
        server = start_serve(f"--data=joined={top}", kernels=kernels)
        assert "data folder joined is bound" in server.log()
        session = Session(server, Rest(server), cellblock={"data": ["joined"]})
        assert session("look(read, '/data/joined/disk/word')") == "of another disk"
        assert session("look(write, '/data/joined/disk/word')") == "Read-only file system"
        session.end()
        server.stop()
    finally:
        subprocess.run(["umount", top / "disk"], check=True)


def test_an_unknown_name(rest):
    answer = check_error(rest.post("/api/kernels", json={"cellblock": {"data": ["set"]}}), 400)
    assert answer["code"] == "data_folder_not_found" and "named set" in answer["message"]
