"""`cellblock serve` with what it cannot use: one true sentence, 2 for a mistake in what was asked,
1 for what the machine refuses, and nothing left behind."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import cellblock
import certificates
import pytest
from cellblock import BUILD

NOBODY = 65534


@pytest.fixture
def open_folder():
    """A folder with the programs that every user can reach, wherever the build lies."""
    with tempfile.TemporaryDirectory(prefix="test-cli-") as name:
        os.chmod(name, 0o755)
        for program in ("cellblock", "cellblock-warden"):
            shutil.copy(BUILD / program, name)
        yield pathlib.Path(name)


def serve(*words, environment=None, programs=BUILD, **options):
    """Runs serve until it ends, which must be soon and without leftovers."""
    before = cellblock.snapshot()
    done = subprocess.Popen(
        [programs / "cellblock", "serve", *(str(word) for word in words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
        **options,
    )
    try:
        done.out, done.err = done.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        done.terminate()
        done.out, done.err = done.communicate(timeout=60)
        raise AssertionError(f"serve served: {done.err}") from None
    assert not cellblock.leftovers(before, done.pid)
    return done


def assert_refused(done, status, *parts):
    assert done.returncode == status, done.err
    assert done.err.startswith(
        "cellblock serve: " if status == 2 else ("cellblock serve: ", "warden: ")
    )
    assert done.out == ""
    assert done.err.count("\n") == 1 and done.err.endswith("\n"), done.err
    for part in parts:
        assert part in done.err


def test_help_is_the_table_of_parameters():
    done = serve("--help")
    assert (done.returncode, done.err) == (0, "")
    assert done.out.startswith("usage: cellblock serve")
    for flag in (
        "--listen ADDRESSES",
        "--max-kernels N",
        "--no-token ",
        "--ws-ping-ms TIME",
    ):
        assert flag in done.out


def test_version():
    done = serve("--version")
    assert (done.returncode, done.err) == (0, "")
    assert done.out.startswith("cellblock ")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            ["--max-kernel", "3"],
            "there is no flag --max-kernel, did you mean --max-kernels?",
        ),
        (
            ["--max-kernels", "none"],
            '--max-kernels: "none" is not a number from 1 to 4096',
        ),
        (["--listen", "example.org:80"], "--listen: "),
        (["--token"], "--token needs a value"),
        (["--no-token", "--token=x"], "token and no_token exclude each other"),
        (["notebook.ipynb"], 'unexpected argument "notebook.ipynb"'),
    ],
)
def test_wrong_flags(words, sentence):
    assert_refused(serve(*words), 2, sentence)


def test_a_wrong_variable():
    done = serve(environment={"CELLBLOCK_PIDS": "many"})
    assert_refused(done, 2, 'CELLBLOCK_PIDS: "many" is not a number from 16 to 32768')


@pytest.mark.parametrize(
    "contents, sentence",
    [
        ("pids = 100\nfoo = 1\n", "line 2: there is no parameter foo"),
        (
            "[data]\nbooks = /srv/books\n",
            "line 2: [data]: there are no sections; write data = NAME=/host/folder",
        ),
        ("pids\n", "line 1: the line is not NAME = VALUE"),
    ],
)
def test_a_wrong_file(tmp_path, contents, sentence):
    path = tmp_path / "cellblock.ini"
    path.write_text(contents)
    assert_refused(serve("--config", path), 2, str(path), sentence)


@pytest.mark.parametrize(
    "name, sentence", [("absent", "No such file or directory"), ("", "Is a directory")]
)
def test_a_file_that_cannot_be_read(tmp_path, name, sentence):
    path = tmp_path / name
    assert_refused(serve("--config", path), 1, str(path), sentence)


@pytest.mark.parametrize(
    "path, sentence",
    [
        ("/nowhere", "find /nowhere: No such file or directory"),
        ("/bin/sh", "/bin/sh is no folder"),
        ("/", "/ is never shown in a jail"),
        ("/etc", "/etc is never shown in a jail"),
        ("/proc/self", "is never shown in a jail"),
        ("/sys/kernel", "/sys/kernel is never shown in a jail"),
        ("/dev", "/dev is never shown in a jail"),
        ("/usr/../etc", "/etc is never shown in a jail"),
    ],
)
def test_a_data_folder_that_cannot_be_shown(path, sentence):
    assert_refused(serve("--data", f"sets={path}"), 1, "data folder sets: ", sentence)


def test_a_data_folder_that_leads_to_another(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/etc")
    assert_refused(serve("--data", f"sets={link}"), 1, "/etc is never shown in a jail")


def test_a_file_that_the_user_may_not_read(open_folder):
    path = open_folder / "cellblock.ini"
    path.write_text("pids = 100\n")
    path.chmod(0)
    done = serve("--config", path, programs=open_folder, user=NOBODY, group=NOBODY)
    assert_refused(done, 1, str(path), "Permission denied")


def test_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve("--listen", f"127.0.0.1:{port}")
    assert_refused(done, 1, "127.0.0.1", str(port), "Address already in use")


def test_an_address_that_is_not_of_this_machine():
    done = serve("--listen", "192.0.2.1:0")
    assert_refused(done, 1, "192.0.2.1", "Cannot assign requested address")


@pytest.fixture
def files(tmp_path):
    """Certificates, and files that are none."""
    authority = certificates.Authority(tmp_path)
    authority.sign("server", "/CN=server")
    authority.sign("other", "/CN=other")
    (tmp_path / "empty").touch()
    return tmp_path


@pytest.mark.parametrize("parameter", ["certfile", "keyfile", "client_ca"])
def test_a_file_of_certificates_that_is_not_there(files, parameter):
    given = {"certfile": files / "server.pem", "keyfile": files / "server.key"}
    given[parameter] = files / "absent"
    words = [f"--{name.replace('_', '-')}={path}" for name, path in given.items()]
    done = serve("--listen=127.0.0.1:0", *words)
    assert_refused(done, 1, f"{parameter}: open {files}/absent", "No such file or directory")
    given[parameter] = files
    words = [f"--{name.replace('_', '-')}={path}" for name, path in given.items()]
    assert_refused(serve("--listen=127.0.0.1:0", *words), 1, f"{parameter}: ", "is no file")


@pytest.mark.parametrize(
    ("certfile", "keyfile", "client_ca", "sentence"),
    [
        ("empty", "server.key", None, "certfile: there is no certificate in PEM form"),
        ("server.key", "server.key", None, "certfile: there is no certificate in PEM form"),
        ("server.pem", None, None, "certfile: there is no private key without a passphrase"),
        ("server.pem", "empty", None, "keyfile: there is no private key without a passphrase"),
        ("server.pem", "other.key", None, "keyfile: the key does not belong to the certificate"),
        ("server.pem", "server.key", "empty", "client_ca: there is no certificate in PEM form"),
    ],
)
def test_certificates_that_are_no_use(files, certfile, keyfile, client_ca, sentence):
    """The gateway finds out; it is not tried again and again."""
    given = {"certfile": certfile, "keyfile": keyfile, "client-ca": client_ca}
    words = [f"--{name}={files / file}" for name, file in given.items() if file]
    done = serve("--listen=127.0.0.1:0", *words)
    assert (done.returncode, done.out) == (2, ""), done.err
    assert sentence in done.err, done.err
    assert done.err.count("gateway fails") == 1 and "too often" not in done.err


def test_a_user_who_may_not(open_folder):
    done = serve(
        "--listen", "127.0.0.1:0", programs=open_folder, user=NOBODY, group=NOBODY
    )
    assert_refused(done, 1, "root")


def test_a_ready_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "absent" / "ready"
    done = serve("--listen", "127.0.0.1:0", "--ready-file", path)
    assert (done.returncode, done.out) == (1, "")
    assert "ready_file: " in done.err
    assert str(path) in done.err and "No such file or directory" in done.err
