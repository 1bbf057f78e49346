"""The shell functions behind gateway/start and tests/run: they repeat, heal, and wait for each
other, and they say what to do where they may not do it themselves."""

import concurrent.futures
import os
import shutil
import subprocess

import cellblock
import pytest

INSTALL = cellblock.ROOT / "gateway" / "install.sh"
NOBODY = 65534


def shell(script, home, **options):
    command = ["bash", "-c", f"set -euo pipefail; . {INSTALL}; {script}"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, **options)


@pytest.mark.parametrize("release, names", [("12", "cmake gcc"), ("13", "cmake gcc newer")])
def test_package_lists_know_releases(tmp_path, release, names):
    (tmp_path / "list").write_text("# what it is\ncmake\n\ngcc\nnewer 13\n")
    result = shell(f"debian_release={release}; package_names list", tmp_path, cwd=tmp_path)
    assert result.stdout.split() == names.split()


def test_only_what_is_missing_is_missing(tmp_path):
    result = shell("missing_packages bash no-such-package coreutils", tmp_path)
    assert result.stdout.split() == ["no-such-package"]


def test_without_root_it_says_the_line_to_run(tmp_path):
    # The clone may lie where only root may read.
    (tmp_path / "gateway").mkdir()
    script = shutil.copy(INSTALL, tmp_path / "gateway")
    (tmp_path / "list").write_text("bash\nno-such-package\n")
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    result = subprocess.run(
        ["bash", "-c", f"set -euo pipefail; . {script}; need_packages {tmp_path}/list; echo on"],
        capture_output=True,
        text=True,
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "cellblock: these Debian packages are missing; as root, run:",
        "cellblock:   apt-get update && apt-get install --no-install-recommends no-such-package",
    ]


# Stands in for /usr/bin/python3, whose venv takes seconds.
PYTHON = """#!/bin/bash
if [[ $1 == -VV ]]; then echo "Python 3.0"; exit; fi
[[ "$1 $2 $3" == "-I -m venv" ]] || exit 1
mkdir -p "$4/bin"
echo made >>"$4.log"
printf '#!/bin/bash\nexit 0\n' >"$4/bin/pip"
chmod +x "$4/bin/pip"
"""


@pytest.fixture
def requirements(tmp_path):
    """Nothing to download: what is tested is when an environment is made."""
    (tmp_path / "python3").write_text(PYTHON)
    (tmp_path / "python3").chmod(0o755)
    path = tmp_path / "requirements.txt"
    path.write_text("# nothing\n")
    return path


def need_python(tmp_path, requirements):
    """How often the environment has been made when it is there."""
    script = f"debian_python={tmp_path}/python3; need_python {tmp_path}/env {requirements}"
    result = shell(script, tmp_path)
    assert result.returncode == 0, result.stderr
    return len((tmp_path / "env.log").read_text().splitlines())


def test_an_environment_is_made_once(tmp_path, requirements):
    assert need_python(tmp_path, requirements) == 1
    assert (tmp_path / "env" / "bin" / "pip").exists()
    assert need_python(tmp_path, requirements) == 1
    requirements.write_text("# other\n")
    assert need_python(tmp_path, requirements) == 2


def test_a_half_made_environment_is_made_anew(tmp_path, requirements):
    broken = tmp_path / "env" / "lib" / "broken"
    broken.mkdir(parents=True)
    assert need_python(tmp_path, requirements) == 1
    assert not broken.exists()


def test_several_at_once_make_one(tmp_path, requirements):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        counts = pool.map(lambda _: need_python(tmp_path, requirements), range(4))
    assert list(counts) == [1, 1, 1, 1]


def test_a_home_is_made_once(tmp_path):
    """And again where what it is made from has changed."""
    environment = tmp_path / "env"
    (environment / "bin").mkdir(parents=True)
    (environment / ".stamp").write_text("one")
    (environment / "bin" / "python").write_text('#!/bin/bash\ntouch "$2/made"; echo >>"$0.log"\n')
    (environment / "bin" / "python").chmod(0o755)

    def made():
        result = shell(f"need_home {environment}", tmp_path)
        assert result.returncode == 0, result.stderr
        assert (environment / "share" / "cellblock" / "home" / "made").exists()
        return len((environment / "bin" / "python.log").read_text())

    assert (made(), made()) == (1, 1)
    (environment / ".stamp").write_text("other")
    assert made() == 2


def test_the_kernels_python_is_debians_and_everybody_may_read_it():
    prefix = cellblock.PYTHON
    assert "home = /usr/bin" in (prefix / "pyvenv.cfg").read_text()
    for path in [prefix, *prefix.parents, *prefix.rglob("*")]:
        assert path.is_symlink() or path.stat().st_mode & 0o044 == 0o044, path


def test_a_lock_is_not_inherited(tmp_path):
    """What is started after the step must not hold the lock for as long as it runs."""
    script = f"locked {tmp_path}/lock true; flock -n {tmp_path}/lock true && ls -l /proc/self/fd"
    result = shell(script, tmp_path)
    assert result.returncode == 0
    assert "lock" not in result.stdout


def test_a_build_folder_of_another_clone_is_made_anew(tmp_path):
    """A copied clone brings CMake's cache along, which knows the old place."""
    cache = tmp_path / "build" / "CMakeCache.txt"
    cache.parent.mkdir()
    cache.write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/somewhere/else\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja"):
        (tools / name).write_text(f'#!/bin/bash\necho "{name} $*" >>{tmp_path}/called\n')
        (tools / name).chmod(0o755)
    # cmake leaves no build.ninja here, so the second run configures again.
    script = f"PATH={tools}:$PATH; mkdir -p {tmp_path}/build; build {tmp_path}/build -DX=1"
    (tools / "cmake").write_text(
        f'#!/bin/bash\necho "cmake $*" >>{tmp_path}/called\nmkdir {tmp_path}/build\n'
    )
    result = shell(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert not cache.exists()
    called = (tmp_path / "called").read_text()
    assert "-DX=1" in called and "ninja" in called
