"""A fault planted in each program turns the reports red; the same run without it is green.

CELLBLOCK_PLANT=PROGRAM:FAULT makes that program, in a test build, write past a heap allocation,
leak or overflow an int when it starts. What such a run reports is moved away, so that it is not
taken for a fault of the run that these tests belong to."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import cellblock
import pytest
import reports
import websocket

CHECK = cellblock.ROOT / "tests" / "support" / "check_reports"
PROCESS_END_S = 30


class Run:
    """One run of a server whose reports lie in a folder of their own once it is over."""

    def __init__(self, folder):
        self.reports = folder / "reports"
        self.log = folder / "serve.log"
        self._before = set(cellblock.REPORTS.iterdir())

    def new_files(self):
        return set(cellblock.REPORTS.iterdir()) - self._before

    def processes(self, program):
        found, _, _ = reports.read_folder(cellblock.REPORTS)
        return [one for one in found if one.path not in self._before and one.program == program]

    def await_end(self, program):
        def has_ended():
            return any(process.ended for process in self.processes(program))

        cellblock.wait_until(has_ended, PROCESS_END_S, f"the end of {program}")

    def await_planted(self, program):
        """The process in which the fault happened."""

        def find():
            planted = [one for one in self.processes(program) if one.rest_of("planted")]
            return planted and planted[0]

        return cellblock.wait_until(find, PROCESS_END_S, f"{program} with its fault")

    def collect(self, log=""):
        self.log.write_text(log)
        self.reports.mkdir()
        for path in self.new_files():
            shutil.move(path, self.reports / path.name)

    def check(self, *arguments):
        command = [sys.executable, CHECK, self.reports, "--log", self.log, *arguments]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True)

    def problems(self):
        """What check_reports says, and it says something."""
        result = self.check()
        assert result.returncode == 1, result.stdout
        return result.stderr


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    yield run
    for path in run.new_files():
        path.unlink()


def fail_serve(plant, run, _kernels):
    """The program ends before requests are answered, and so does serve."""
    with pytest.raises(AssertionError, match="serve ended with"):
        cellblock.Serve(environment={"CELLBLOCK_PLANT": plant})
    run.await_planted(plant.partition(":")[0])
    return ""


def kernelspec(folder, **members):
    """A folder with the echo kernel and a changed kernelspec."""
    shutil.copytree(cellblock.BUILD / "kernels" / "echo", folder / "echo")
    path = folder / "echo" / "kernel.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))
    return folder


@pytest.fixture
def kernels():
    """Kernelspecs must lie where every user may look; in a jail /tmp is the session's."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="test-kernels-", dir=cellblock.STATE))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def start_kernel(server):
    status, model = server.request("POST", "/api/kernels", {"name": "echo"})
    assert status == 201
    return model["id"]


def fail_kernel(plant, run, kernels):
    """A kernel is started in a jail, in which the program fails."""
    folder = kernelspec(kernels, env={"CELLBLOCK_PLANT": plant})
    with cellblock.Serve(kernels=folder) as server:
        kernel = start_kernel(server)
        run.await_planted(plant.partition(":")[0])

        def is_dead():
            status, model = server.request("GET", f"/api/kernels/{kernel}")
            return status == 404 or model["execution_state"] == "dead"

        # Of the fault, not by the warden when the server stops.
        cellblock.wait_until(is_dead, PROCESS_END_S, "the kernel's death")
    return server.log()


# How each program is made to fail.
WAYS = {
    "cellblock": fail_serve,
    "warden": fail_serve,
    "gateway": fail_serve,
    "init": fail_kernel,
    "echo": fail_kernel,
}


def test_every_program_has_its_fault():
    assert set(WAYS) == set(reports.PROGRAMS)


def assert_vanished(program, said):
    vanished = [line for line in said.splitlines() if line.startswith(f"{program} ")]
    assert any("never said how it ended" in line for line in vanished), said


@pytest.mark.parametrize("program", [program for program in WAYS if program != "init"])
def test_an_overflow_turns_the_run_red(program, run, kernels):
    run.collect(WAYS[program](f"{program}:overflow", run, kernels))
    said = run.problems()
    assert_vanished(program, said)
    assert "AddressSanitizer: heap-buffer-overflow" in said
    assert f"{program}." in said.partition(": sanitizer report")[0]


@pytest.mark.parametrize("program", WAYS)
def test_undefined_behaviour_turns_the_run_red(program, run, kernels):
    run.collect(WAYS[program](f"{program}:undefined", run, kernels))
    said = run.problems()
    assert_vanished(program, said)
    # pid 1 traps, which has no text.
    assert program == "init" or "undefined behaviour at" in said and "overflow" in said


@pytest.mark.parametrize("program", ["warden", "gateway"])
def test_a_leak_turns_the_run_red(program, run):
    """Seen at the end: serve works, and the warden's exit status is the leak checker's."""
    server = cellblock.Serve(environment={"CELLBLOCK_PLANT": f"{program}:leak"})
    if program == "warden":
        with pytest.raises(AssertionError, match="serve ended with 99"):
            server.stop()
    else:
        server.stop()
    run.collect(server.log())
    said = run.problems()
    if program == "warden":
        assert "LeakSanitizer: detected memory leaks" in said
    else:
        assert "gateway" in said and "8 allocations alive at its end" in said


def test_a_leak_in_a_kernel_turns_the_run_red(run, kernels):
    folder = kernelspec(kernels, env={"CELLBLOCK_PLANT": "echo:leak"})
    with cellblock.Serve(kernels=folder) as server:
        execute(server, start_kernel(server), "exit 0")
        run.await_end("init")
    run.collect(server.log())
    said = run.problems()
    assert "echo" in said and "8 allocations alive at its end" in said


def execute(server, kernel, code):
    """Sends a cell and waits until something is said about it."""
    query = urllib.parse.urlencode({"token": server.token})
    link = websocket.create_connection(
        f"{server.ws_url}/api/kernels/{kernel}/channels?{query}", timeout=PROCESS_END_S
    )
    header = {"msg_id": "m1", "msg_type": "execute_request", "session": "s", "username": "",
              "version": "5.4", "date": "2026-11-30T00:00:00.000000Z"}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": True}  # fmt: skip
    link.send(json.dumps({"channel": "shell", "header": header, "parent_header": {},
                          "metadata": {}, "content": content}))  # fmt: skip
    while json.loads(link.recv())["parent_header"].get("msg_id") != "m1":
        pass
    link.close()


def test_a_run_without_a_fault_is_green(run):
    with cellblock.Serve() as server:
        execute(server, start_kernel(server), "exit 0")
        for program in reports.JAILED:
            run.await_end(program)
        start_kernel(server)  # which the warden kills
    run.collect(server.log())
    result = run.check("--expect", ",".join(reports.PROGRAMS))
    assert result.returncode == 0, result.stderr
