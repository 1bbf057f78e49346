"""places - where suites run: in a cell of a session, and outside of any jail.

Outside means the same machine, Python, environment variables and number of open files, an
unprivileged user, no terminal, and a home in memory, as a session's is. What differs then is the
jail.
"""

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile

import cellblock
from channels import Channels
from rest import Rest

# Nobody's machine is as slow as this; it keeps what hangs from being waited for all day.
LIMIT_S = 1500
KEPT = cellblock.BUILD / "results" / "suites"
NOBODY = 65534
OPEN_FILES = 1024  # a session's own, by default

# The standard streams of the command go to a file: what suites say is much.
RUN = """
import json, pathlib, subprocess
for name, text in {files!r}.items():
    pathlib.Path(name).write_text(text)
with open("said", "w") as said:
    streams = dict(stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    subprocess.run({command!r}, env={environment!r}, **streams)
left = pathlib.Path().glob("*.json")
print(json.dumps({{path.stem: json.loads(path.read_text()) for path in left}}))
"""


def environment(home, temporary, user, more):
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "LANG": "C.UTF-8",
        "TMPDIR": temporary,
        **more,
    }


def inside(server, script, command, more, **body):
    """What the command leaves in JSON files, by their names without the suffix, when a cell of a
    new session runs it in its home with this script beside it. more: variables; body: the
    session's parameters."""
    rest = Rest(server)
    kernel_id = rest.start_kernel(**body)
    code = RUN.format(
        files={script.name: script.read_text()},
        command=[str(word) for word in command],
        environment=environment("/home/user", "/tmp", "user", more),
    )
    with Channels(server, kernel_id) as channels:
        answer = channels.run(code, seconds=LIMIT_S)
    rest.end_kernel(kernel_id)
    assert answer.content["status"] == "ok", answer.content
    assert answer.text, answer.messages
    return keep("inside", script, json.loads(answer.text.splitlines()[-1]))


def keep(where, script, results):
    """Also in a file, for people who look for a reason."""
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{script.stem}-{where}.json").write_text(json.dumps(results, indent=1))
    return results


@contextlib.contextmanager
def home():
    """A folder in memory that is nobody's."""
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="test-suites-")
    try:
        shutil.chown(folder, NOBODY, NOBODY)
        yield pathlib.Path(folder)
    finally:
        shutil.rmtree(folder)


def outside(script, command, more):
    """The same outside."""
    with home() as folder, open(folder / "said", "w") as said:
        shutil.copy(script, folder)
        subprocess.run(
            ["prlimit", f"--nofile={OPEN_FILES}", *(str(word) for word in command)],
            cwd=folder,
            env=environment(str(folder), str(folder), "nobody", more),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            timeout=LIMIT_S,
            start_new_session=True,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        results = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
        return keep("outside", script, results)


def ends(results):
    """test -> end, of what a script left."""
    return {test: end for suite in results.values() for test, (end, _) in suite.items()}
