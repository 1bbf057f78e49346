"""What each program links: the warden and pid 1 hold privilege, so little may be in them."""

import subprocess

import cellblock
import pytest

STRANGERS_LIBRARIES = ("libzmq", "libczmq", "libevent", "libssl", "libllhttp")


def dynamic_section(program):
    command = ["readelf", "-d", cellblock.BUILD / program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def linked(program):
    lines = dynamic_section(program).splitlines()
    return [line.partition("[")[2].rstrip("]") for line in lines if "(NEEDED)" in line]


@pytest.mark.parametrize("program", ["cellblock", "cellblock-warden", "cellblock-init"])
def test_no_library_that_reads_what_strangers_send(program):
    for name in linked(program):
        assert not name.startswith(STRANGERS_LIBRARIES), name


def test_the_gateway_links_what_the_others_may_not():
    """Else the test above would see nothing."""
    names = " ".join(linked("cellblock-gateway"))
    assert "libzmq" in names and "libevent" in names


def test_pid_1_is_static():
    assert linked("cellblock-init") == []
