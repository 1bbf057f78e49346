"""`cellblock serve` in a plain chroot, whose "/" is a folder like any other: kernels run and see
what is in there, and the machine outside sees nothing of it. Where something that it needs is not
mounted in there, one line says so."""

import signal
import subprocess

import cellblock
import kernelspecs
import pytest
from channels import Channels
from mounts import Namespace
from rest import Rest

# The machine's top level once more, and /chroot, which only the chroot has. The mount on which it
# lies is shared: what leaked out of the chroot would be mounted there for the namespace's holder.
MIRROR = """
mkdir $TOP/root
for entry in /*; do
    if [[ -L $entry ]]; then
        cp -P "$entry" "$TOP/root$entry"
    elif [[ -d $entry && $entry != "$LEFT_OUT" ]]; then
        mkdir "$TOP/root$entry"
        mount --rbind "$entry" "$TOP/root$entry"
    fi
done
cp -r "$SPECS" $TOP/root/chroot
mount --make-shared $TOP
"""


@pytest.fixture
def make_machine(tmp_path):
    """A namespace with a chroot; left_out is what it lacks."""
    specs = kernelspecs.write_kernelspecs(tmp_path / "specs", ("python3",))
    machines = []

    def make(left_out=""):
        machines.append(Namespace(MIRROR, SPECS=specs, LEFT_OUT=left_out))
        return machines[-1]

    yield make
    for machine in machines:
        machine.end()


def serve_command(machine):
    return machine.enter("chroot", machine.top / "root", cellblock.BUILD / "cellblock", "serve")


def serve_in(machine):
    return cellblock.Serve(command=serve_command(machine), kernels="/chroot")


def run_in(server, kernel_id, code):
    with Channels(server, kernel_id) as channels:
        answer = channels.run(code)
    assert answer.content["status"] == "ok", answer.content
    return answer.text


def test_a_kernel_in_a_chroot(make_machine):
    """The kernelspec lies in the chroot alone, and its folder is shown in the jail."""
    machine = make_machine()
    before = machine.mounts()
    with serve_in(machine) as server:
        kernel_id = Rest(server).start_kernel()
        code = "import os; print(os.path.exists('/chroot/python3/kernel.json'), 6 * 7)"
        assert run_in(server, kernel_id, code) == "True 42\n"
        assert machine.mounts() == before
    assert machine.mounts() == before


def test_its_paths_stay_those_of_the_chroot(make_machine):
    """After a session has been made, too: that takes the warden through other mount namespaces."""
    machine = make_machine()
    specs = machine.path(machine.top / "root" / "chroot")
    with serve_in(machine) as server:
        rest = Rest(server)
        run_in(server, rest.start_kernel(), "1")
        kernelspecs.write_kernelspec(specs, "late", kernelspecs.arguments("python3"))
        server.process.send_signal(signal.SIGHUP)
        cellblock.wait_until(
            lambda: "late" in rest.get("/api/kernelspecs").json()["kernelspecs"], 60, "late"
        )


def test_without_proc_one_line_says_so(make_machine):
    command = serve_command(make_machine(left_out="/proc"))
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1, result
    # A sanitizer has its own words on the matter.
    lines = [line for line in result.stderr.splitlines() if not line.startswith("==")]
    assert len(lines) == 1, result.stderr
    assert "mount -t proc proc /proc" in lines[0]
