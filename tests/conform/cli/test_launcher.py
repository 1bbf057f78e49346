"""`cellblock` alone: what it says, and that it finds its programs beside itself."""

import shutil
import subprocess

import pytest
from cellblock import BUILD


def run(*words, program=BUILD / "cellblock"):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_goes_to_stdout_and_lists_the_commands(flag):
    done = run(flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: cellblock COMMAND" in done.stdout
    assert "\n  serve " in done.stdout


def test_version():
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    name, version = done.stdout.split()
    assert name == "cellblock"
    assert all(part.isdigit() for part in version.split("."))


def test_no_command_is_a_mistake():
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: cellblock COMMAND" in done.stderr


@pytest.mark.parametrize("word", ["sevre", "--serve", "SERVE", "x" * 5000])
def test_an_unknown_command_is_one_line(word):
    done = run(word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'cellblock: there is no command "{word[:60]}"')
    assert done.stderr.count("\n") == 1


def test_a_program_that_is_missing_is_named(tmp_path):
    shutil.copy(BUILD / "cellblock", tmp_path)
    done = run("serve", program=tmp_path / "cellblock")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"cellblock: run {tmp_path}/cellblock-warden: No such file or directory\n"
    )


def test_it_hands_its_words_over_as_they_are(tmp_path):
    shutil.copy(BUILD / "cellblock", tmp_path)
    warden = tmp_path / "cellblock-warden"
    warden.write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\nexit 7\n')
    warden.chmod(0o755)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "box"
    link.symlink_to("../cellblock")
    done = run("serve", "--listen", "a b", "", "--help", program=link)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "<--listen>\n<a b>\n<>\n<--help>\n"
