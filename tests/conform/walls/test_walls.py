"""The walls between rooms: what CMake's include folders refuse, and what tests/support/walls finds
where they are blind. Each case is one made-up source in a small tree of its own."""

import shutil
import subprocess

import cellblock
import pytest

WALLS = cellblock.ROOT / "tests" / "support" / "walls"

# Two rooms as CMake would lay them out: `high` names `low` and libevent, `low` names nobody.
BUILD = """
rule cc
  command = cc -MD -MF $out.d -I rooms/$room -c $in -o $out
  depfile = $out.d
  deps = gcc
build {room}.o: cc ../{room}/{room}.c
  room = {room}
"""


@pytest.fixture
def tree(tmp_path):
    for room, words in (("high", "low pkg:libevent"), ("low", "# Knows nobody.\n")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "deps").write_text(words)
        (tmp_path / room / f"{room}.h").write_text("#pragma once\n#include <stdio.h>\n")
        wall = tmp_path / "build" / "rooms" / room
        wall.mkdir(parents=True)
        (wall / room).symlink_to(tmp_path / room)
    (tmp_path / "build" / "rooms" / "high" / "low").symlink_to(tmp_path / "low")
    (tmp_path / "build" / "rooms.txt").write_text("high high\nlow low\n")
    return tmp_path


def judge(tree, room, *includes):
    """Compiles one source with these includes, and returns what walls says."""
    source = "".join(f"#include {name}\n" for name in includes) + "typedef int unit;\n"
    (tree / room / f"{room}.c").write_text(source)
    (tree / "build" / "build.ninja").write_text(BUILD.format(room=room))
    subprocess.run(["ninja", "--quiet", "-C", tree / "build"], check=True)
    return subprocess.run([WALLS, tree / "build", tree], capture_output=True, text=True)


@pytest.mark.parametrize(
    "room, include",
    [
        ("low", '"low/low.h"'),
        ("low", "<linux/seccomp.h>"),
        ("low", "<stdatomic.h>"),
        ("high", '"low/low.h"'),
        ("high", "<event2/event.h>"),
    ],
)
def test_what_the_deps_name_is_free(tree, room, include):
    result = judge(tree, room, include)
    assert (result.returncode, result.stdout) == (0, "1 objects, 0 headers through the walls\n")


@pytest.mark.parametrize(
    "room, include, sentence",
    [
        ("low", "<event2/event.h>", "event2/event.h, a library that its deps do not name"),
        ("low", "<jansson.h>", "jansson.h, a library"),
        ("low", "<openssl/evp.h>", "openssl/evp.h, a library"),
        ("low", '"../high/high.h"', "high/high.h of the room high, which its deps do not name"),
        ("low", '"low/../high/high.h"', "high/high.h, which is not there: ninja resolved a '..'"),
        ("high", "<zmq.h>", "zmq.h, a library"),
    ],
)
def test_what_slips_through_is_named(tree, room, include, sentence):
    result = judge(tree, room, include)
    assert result.returncode == 1
    assert sentence in result.stdout
    assert f"{room}/{room}.c reads" in result.stdout


def test_a_build_without_objects_is_an_error(tree):
    (tree / "build" / "build.ninja").write_text("")
    assert subprocess.run([WALLS, tree / "build", tree], capture_output=True).returncode == 1


def test_cmake_does_not_find_a_room_that_is_not_named(tmp_path):
    """protocol/base knows nobody, so protocol/msg's headers do not exist for it."""
    source = tmp_path / "source"
    left_out = shutil.ignore_patterns("build", ".git", "docs", "notebooks")
    shutil.copytree(cellblock.ROOT, source, ignore=left_out)
    offender = source / "protocol" / "base" / "offender.c"
    build = tmp_path / "build"
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja"]
    target = ["ninja", "-C", build, "room_base"]

    offender.write_text('#include "base/err.h"\n')
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(target, check=True, capture_output=True)

    offender.write_text('#include "msg/msg.h"\n')
    result = subprocess.run(target, capture_output=True, text=True)
    assert result.returncode != 0
    assert "msg/msg.h: No such file or directory" in result.stdout
