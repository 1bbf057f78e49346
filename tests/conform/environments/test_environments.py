"""Python environments where they are not expected serve kernels like any other: on a file system of
their own, below a private home, with a mount in their middle, on overlays as deep as they go. Each
is seen at its own path and cannot be written."""

import pathlib
import shutil
import subprocess

import cellblock
import kernelspecs
import pytest
from channels import Channels
from mounts import Namespace
from rest import Rest

# What a kernel can do without: most of the shipped environment's bytes.
HEAVY = ("pandas*", "numpy*", "matplotlib*", "fontTools*", "pillow*", "PIL", "jedi*", "pip*",
         "setuptools*", "kiwisolver*", "debugpy", "__pycache__")  # fmt: skip

# How $MADE, an environment, gets to $ENV, an empty folder.
PLACES = {
    "tmpfs": 'mount -t tmpfs -o mode=755 tmpfs "$ENV"; cp -a "$MADE/." "$ENV"',
    "bind": 'mount --bind "$MADE" "$ENV"',
    "mount in it": """
mount --bind "$MADE" "$ENV"
mount -t tmpfs -o mode=755 tmpfs "$ENV/include"
echo there >"$ENV/include/there"
""",
    "overlay": """
mkdir "$TOP/empty"
mount -t overlay -o lowerdir="$MADE:$TOP/empty" overlay "$ENV"
""",
    "overlay on an overlay": """
mkdir "$TOP"/{empty,first}
mount -t overlay -o lowerdir="$MADE:$TOP/empty" overlay "$TOP/first"
mount -t overlay -o lowerdir="$TOP/first:$TOP/empty" overlay "$ENV"
""",
}

LOOK = """
import os, sys
print(sys.prefix)
print(os.path.exists(sys.prefix + '/include/there'))
try:
    open(sys.prefix + '/new', 'w')
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture(scope="module")
def made():
    """A small environment with ipykernel: of the shipped one, what fits. Nothing is downloaded."""
    # Not below /tmp, which is a session's own in a jail.
    folder = cellblock.STATE / "environment"
    shutil.rmtree(folder, ignore_errors=True)
    command = ["/usr/bin/python3", "-m", "venv", "--without-pip", folder]
    subprocess.run(command, check=True, timeout=120)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (shipped,) = cellblock.PYTHON.glob("lib/python3*/site-packages")
    ignore = shutil.ignore_patterns(*HEAVY)
    shutil.copytree(shipped, packages, ignore=ignore, dirs_exist_ok=True)
    kernelspec = "share/jupyter/kernels/python3"
    shutil.copytree(cellblock.PYTHON / kernelspec, folder / kernelspec)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place():
    """An empty folder in a private home."""
    folder = pathlib.Path.home() / ".cache" / "cellblock" / "environment"
    folder.mkdir(parents=True)
    yield folder
    folder.rmdir()


@pytest.mark.parametrize("how", PLACES)
def test_an_environment(tmp_path, made, place, how):
    """By --python, and by a kernelspec whose program lies in it."""
    spec = [f"{place}/bin/python3", *kernelspecs.KERNEL]
    kernelspecs.write_kernelspec(tmp_path / "kernels", "own", spec)
    with Namespace(PLACES[how], MADE=made, ENV=place) as namespace:
        command = namespace.enter(cellblock.BUILD / "cellblock", "serve", "--python", place)
        with cellblock.Serve(command=command, kernels=tmp_path / "kernels") as server:
            expected = f"{place}\n{how == 'mount in it'}\nRead-only file system\n"
            assert look(server, "python3") == expected
            assert look(server, "own") == expected


def look(server, name):
    rest = Rest(server)
    kernel_id = rest.start_kernel(name=name)
    with Channels(server, kernel_id) as channels:
        answer = channels.run(LOOK)
    rest.end_kernel(kernel_id)
    assert answer.content["status"] == "ok", answer.content
    return answer.text
