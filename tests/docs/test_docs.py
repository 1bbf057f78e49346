"""The pages: what is generated is up to date, what is linked exists, what README says runs."""

import os
import re
import signal
import subprocess
import sys

import cellblock
import pytest

README = (cellblock.ROOT / "README.md").read_text()
PAGES = [cellblock.ROOT / "README.md", *sorted((cellblock.ROOT / "docs").rglob("*.md"))]
INSTALL_S = 600


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(cellblock.ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


SEEN = (cellblock.ROOT / "docs" / "jail.md").read_text().partition("## What a session sees, row")[2]
ROWS = [row for row in SEEN.partition("\n## ")[0].splitlines() if row.startswith("| ")]
ROWS = [row for row in ROWS if not row.endswith("| shown by |")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_what_a_session_sees_is_shown_by_a_test(row):
    """The last column links a test by its name."""
    *_, shown, _ = row.split(" |")
    name, path = re.fullmatch(r" \[(\w+)\]\((.+)\)", shown).groups()
    code = (cellblock.ROOT / "docs" / path).read_text()
    assert re.search(rf"^(static void|def) {name}\(", code, re.MULTILINE), name
    # Cmocka runs what its list names.
    assert path.endswith(".py") or len(re.findall(rf"\b{name}\b", code)) > 1, name


def test_there_are_such_rows():
    assert len(ROWS) > 40


def test_the_table_of_parameters_is_up_to_date():
    generated = subprocess.run([cellblock.BUILD / "params-doc"], capture_output=True, check=True)
    assert (cellblock.ROOT / "docs" / "config.md").read_bytes() == generated.stdout


def test_readme_names_the_two_commands():
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert [line.split()[0] for line in commands] == ["gateway/start", "curl", "tests/run"]


def test_the_test_command_lists_its_groups():
    command = [cellblock.ROOT / blocks("sh")[2].strip(), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert {"unit", "conform", "docs"} <= {line.split()[0] for line in listed.splitlines()}


@pytest.fixture(scope="module")
def started():
    """What README's first command becomes; the options keep it away from other servers."""
    command = [cellblock.ROOT / blocks("sh")[0].strip()]
    with cellblock.Serve(command=command, kernels=None, start_s=INSTALL_S) as server:
        yield server


def run_snippet(command, server):
    environment = {**os.environ, "URL": server.url, "TOKEN": server.token}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.timeout(INSTALL_S)
def test_start_says_where_it_is(started):
    log = started.log()
    assert f"{started.url}/?token={started.token}" in log
    assert f"curl -H 'Authorization: token {started.token}' {started.url}/api/kernelspecs" in log
    assert f"jupyter lab --gateway-url={started.url}" in log
    assert "python3 -c" in log


@pytest.mark.timeout(INSTALL_S)
def test_nothing_of_the_shell_is_left_below_the_server(started):
    assert "cellblock-warden" in cellblock.read_link(f"/proc/{started.pid}/exe")
    below = [cellblock.describe(pid) for pid in cellblock.descendants(started.pid)]
    assert not [process for process in below if " start: " in process]


@pytest.mark.timeout(INSTALL_S)
def test_the_three_lines_can_be_pasted(started):
    """JupyterLab itself is not installed here, so its line is only compared, above."""
    lines = [line.strip() for line in started.log().splitlines()]
    for first in ("curl ", "python3 -c"):
        line = next(line for line in lines if line.startswith(first))
        assert "python3" in run_snippet(["bash", "-c", line], started)


@pytest.mark.timeout(INSTALL_S)
def test_curl(started):
    assert '"python3"' in run_snippet(["bash", "-c", blocks("sh")[1]], started)


@pytest.mark.timeout(INSTALL_S)
def test_nbclient(started):
    assert run_snippet([sys.executable, "-c", blocks("python")[0]], started) == "45\n"


@pytest.mark.timeout(INSTALL_S)
def test_it_starts_again_and_ends_by_control_c():
    """Everything is installed and built by now."""
    command = [cellblock.ROOT / blocks("sh")[0].strip()]
    server = cellblock.Serve(command=command, kernels=None, start_s=INSTALL_S)
    assert "installing" not in server.log()
    assert "building" not in server.log()
    server.stop(signal.SIGINT)
