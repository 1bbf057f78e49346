"""mounts - a mount namespace for a test that has to mount something: a process that waits in it
holds it, so what is mounted there goes with that process, and nothing of it is ever seen outside.
"""

import os
import pathlib
import subprocess
import tempfile

from cellblock import STATE

SCRIPT = """
set -e
mount -t tmpfs -o mode=755 tmpfs "$TOP"
{}
echo made
read -r _ || true
"""


class Namespace:
    """script is bash, run inside with these variables and TOP, the path of an empty file system of
    the namespace's own. Use it as a context manager."""

    def __init__(self, script, **variables):
        STATE.mkdir(parents=True, exist_ok=True)
        # Not below /tmp, which is a session's own in a jail.
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="mounts-", dir=STATE))
        variables = {name: str(value) for name, value in (variables | {"TOP": self.top}).items()}
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "bash", "-c", SCRIPT.format(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables},
        )
        if self.holder.stdout.readline() != b"made\n":
            self.end()
            raise AssertionError(f"the script left with {self.holder.returncode}")

    def enter(self, *command):
        """The argument list that runs a command inside."""
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *command]

    def path(self, path):
        """Where the process outside finds a file of the namespace."""
        return pathlib.Path(f"/proc/{self.holder.pid}/root{path}")

    def mounts(self):
        """What is mounted now, one line each."""
        lines = pathlib.Path(f"/proc/{self.holder.pid}/mountinfo").read_text().splitlines()
        return sorted(line.split(maxsplit=2)[2] for line in lines)

    def end(self):
        self.holder.communicate(timeout=60)
        self.top.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
