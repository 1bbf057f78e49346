"""What programs take for granted, in a cell: a name, terminals, certificates, time zones."""

import ast
import pathlib
import re
import time

import cellblock
import pytest
from channels import Channels
from rest import Rest


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def value(serve):
    """value(code, expression): the expression's value after the code, in a session."""
    rest = Rest(serve)
    kernel_id = rest.start_kernel()
    with Channels(serve, kernel_id) as channels:

        def run(code, expression):
            answer = channels.run(f"import os\n{code}\nprint(repr({expression}))")
            assert answer.content["status"] == "ok", "\n".join(answer.content["traceback"])
            return ast.literal_eval(answer.text.splitlines()[-1])

        yield run
    rest.end_kernel(kernel_id)


# -- names ----------------------------------------------------------------------------------------


def test_the_user_has_a_name_and_a_home(value):
    code = "import getpass, grp, pwd\nentry = pwd.getpwuid(os.getuid())"
    seen = "(entry.pw_name, entry.pw_dir, getpass.getuser(), grp.getgrgid(os.getgid()).gr_name)"
    assert value(code, seen) == ("user", "/home/user", "user", "user")
    assert value("import subprocess", "subprocess.check_output(['id', '-un'])") == b"user\n"


def test_localhost_has_a_name_and_nobody_else(value):
    code = """
import socket
def ask(name):
    try:
        return socket.gethostbyname(name)
    except socket.gaierror as error:
        return 'nobody'
"""
    assert value(code, "[ask('localhost'), ask('example.org')]") == ["127.0.0.1", "nobody"]


# -- terminals ------------------------------------------------------------------------------------


def test_a_child_gets_a_terminal_of_its_own(value):
    """With /dev/tty, which is that one; the kernel itself has none."""
    code = """
import pty
pid, fd = pty.fork()
if pid == 0:
    with open('/dev/tty', 'w') as terminal:
        terminal.write(os.ttyname(0))
    os._exit(0)
said = os.read(fd, 100).decode()
status = os.waitpid(pid, 0)[1]
os.close(fd)
try:
    open('/dev/tty')
    own = 'one'
except OSError as error:
    own = error.strerror
"""
    said, status, own = value(code, "(said, status, own)")
    assert re.fullmatch(r"/dev/pts/\d+", said)
    assert (status, own) == (0, "No such device or address")


def test_programs_that_talk_to_terminals(value):
    code = """
import pexpect, subprocess
child = pexpect.spawn('/bin/sh', encoding='utf-8', timeout=60)
child.sendline('echo $((6 * 7)); tty; exit')
child.expect(pexpect.EOF)
script = subprocess.run(['script', '-qec', 'tty', '/dev/null'], stdin=subprocess.DEVNULL,
                        capture_output=True, text=True, timeout=60)
"""
    spoken, script = value(code, "(child.before, script.stdout)")
    assert "42" in spoken and "/dev/pts/" in spoken
    assert script.startswith("/dev/pts/")


def test_there_is_no_console(value):
    """It would be the host's."""
    code = "names = ['console', 'tty0', 'tty1', 'kmsg', 'log', 'vda', 'fuse', 'net', 'kvm']"
    assert value(code, "[name for name in names if os.path.exists('/dev/' + name)]") == []


# -- certificates and time ------------------------------------------------------------------------


def test_certificates_are_trusted(value):
    """As many as outside, and no link among them leads nowhere."""
    count = value("import ssl", "len(ssl.create_default_context().get_ca_certs())")
    bundle = pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text()
    assert count == bundle.count("BEGIN CERTIFICATE") > 0
    code = "folder = '/etc/ssl/certs'"
    broken = "[n for n in os.listdir(folder) if not os.path.exists(os.path.join(folder, n))]"
    outside = [p.name for p in pathlib.Path("/etc/ssl/certs").iterdir() if not p.exists()]
    assert sorted(value(code, broken)) == sorted(outside)


def test_time_is_the_hosts_and_zones_are_known(value):
    code = """
import datetime, subprocess, time, zoneinfo
tokyo = datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo('Asia/Tokyo')).utcoffset()
other = subprocess.check_output(['date', '+%Z'], env={**os.environ, 'TZ': 'Europe/Paris'})
"""
    seen = "(time.tzname, tokyo.total_seconds(), other.strip() in (b'CET', b'CEST'))"
    local, offset_s, is_known = value(code, seen)
    assert (local, offset_s, is_known) == (time.tzname, 9 * 3600, True)


# -- packages -------------------------------------------------------------------------------------


def test_a_table_has_a_style(value):
    styled = "pandas.DataFrame({'n': [1.25, 2]}).style.format('{:.1f}').to_html()"
    assert value("import pandas", f"{styled}.count('<td')") == 2
