"""What reports.py makes of a folder, with files as the processes write them."""

import subprocess
import sys

import cellblock
import pytest
import reports

JAIL = "0a1b2c3d-0000-4000-8000-000000000001"
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"


class Folder:
    def __init__(self, path):
        self.path = path
        self.count = 0

    def add(self, program, *lines, tag="-", pid=7):
        self.count += 1
        path = self.path / f"{program}.{tag}.{self.count:016x}"
        path.write_text("".join(f"{line}\n" for line in (f"start {program} {tag} {pid}", *lines)))
        return path

    def problems(self, *logs, expected=()):
        return reports.find_problems(self.path, logs, expected)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def killed(*jails):
    return "".join(f"warden: killed tree {i} jail {jail}\n" for i, jail in enumerate(jails))


def test_ends_of_their_own_accord_are_no_problem(folder):
    folder.add("cellblock", "exec")
    folder.add("warden", "exit 0")
    folder.add("echo", "signal 9", tag=JAIL)
    folder.add("gateway", "exit 1")
    assert folder.problems(expected=["cellblock", "warden", "echo", "gateway"]) == []
    assert folder.problems(expected=["init"]) == ["init: no process of it ended by itself"]


def test_a_process_that_vanished_is_a_problem(folder):
    folder.add("gateway")
    [problem] = folder.problems()
    assert problem.startswith("gateway - (pid 7, ")
    assert problem.endswith("started and never said how it ended")


def test_a_killed_tree_accounts_for_one_process_of_each_program(folder):
    for program in ("init", "echo"):
        folder.add(program, tag=JAIL)
    assert folder.problems(killed(JAIL)) == []
    assert len(folder.problems(killed(OTHER))) == 2
    folder.add("echo", tag=JAIL)
    assert len(folder.problems(killed(JAIL))) == 1
    assert folder.problems(killed(JAIL), killed(JAIL)) == []


def test_only_the_wardens_own_lines_count(folder):
    folder.add("echo", tag=JAIL)
    line = f"killed tree 1 jail {JAIL}\n"
    for log in (line, f"kernel: warden: {line}", f"warden: {line.strip()} not\n"):
        assert len(folder.problems(log)) == 1


def test_a_killed_gateway(folder):
    folder.add("gateway")
    folder.add("warden")
    [problem] = folder.problems("warden: killed gateway: it did not leave\n")
    assert problem.startswith("warden ")


def test_a_test_that_kills_says_so(folder):
    folder.add("gateway", pid=1)
    folder.add("gateway", pid=2)
    folder.add("gateway", "exit 0", pid=1)
    assert reports.note_killed(folder.path, "gateway", pid=1) == 1
    assert reports.note_killed(folder.path, "warden") == 0
    [problem] = folder.problems()
    assert problem.startswith("gateway - (pid 2")


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("leak 3", "3 allocations alive at its end"),
        ("undefined a.c:7 shift", "undefined behaviour at a.c:7 shift"),
    ],
)
def test_faults_are_problems_whatever_comes_after(folder, line, sentence):
    folder.add("echo", line, "exit 0")
    [problem] = folder.problems()
    assert problem.endswith(sentence)


@pytest.mark.parametrize("name", ["echo.-.0011223344556677.san.cellblock-echo.3", "early.san.x.1"])
def test_a_sanitizer_report_is_a_problem(folder, name):
    (folder.path / name).write_text("==3==ERROR: AddressSanitizer\nframes\nShadow bytes around\n00")
    [problem] = folder.problems()
    assert problem == f"{name}: sanitizer report\n==3==ERROR: AddressSanitizer\nframes"


def test_an_empty_file_is_a_process_that_vanished(folder):
    """Killed before its first line: its name says whose kill accounts for it."""
    (folder.path / f"init.{JAIL}.0").touch()
    [problem] = folder.problems()
    assert problem.startswith(f"init {JAIL} ")
    assert folder.problems(killed(JAIL)) == []


@pytest.mark.parametrize("text", ["start\n", "start echo - x\n", "exit 0\n"])
def test_a_file_that_is_no_report_is_a_problem(folder, text):
    (folder.path / "echo.-.0").write_text(text)
    assert folder.problems() == ["echo.-.0: no start line"]


def check(*arguments):
    command = [sys.executable, cellblock.ROOT / "tests" / "support" / "check_reports", *arguments]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def test_the_program(folder, tmp_path):
    reports_folder = tmp_path / "new" / "reports"
    assert check("--prepare", reports_folder).returncode == 0
    assert reports_folder.stat().st_mode & 0o7777 == 0o1777
    folder.path = reports_folder
    folder.add("echo", tag=JAIL)
    red = check(reports_folder)
    assert red.returncode == 1
    assert "never said how it ended" in red.stderr

    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "serve.log").write_text(killed(JAIL))
    green = check(reports_folder, "--log", logs)
    assert (green.returncode, green.stdout) == (0, "1 processes reported, 0 problems\n")
    assert check(reports_folder, "--log", logs, "--expect", "echo").returncode == 1
    assert check(reports_folder, "--log", tmp_path / "nowhere.log").returncode == 1
