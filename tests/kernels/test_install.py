"""What root runs to install kernels, called in a folder that somebody else has filled."""

import subprocess

import pytest
from cellblock import ROOT

INSTALL = f". {ROOT}/gateway/install.sh; make_python {{}}/made {{}}/requirements.txt"


@pytest.fixture
def folder(tmp_path):
    """Python looks there first for the modules of `python -m`, unless it is told not to."""
    for module in "argparse", "bash_kernel", "json", "venv":
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)"
        (tmp_path / f"{module}.py").write_text(text)
    return tmp_path


def run(folder, *command):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert not (folder / "ran").exists()


def test_add_kernel(folder):
    run(folder, ROOT / "gateway" / "add-kernel", "bash")


def test_an_environment(folder, tmp_path_factory):
    """One with nothing in it."""
    made = tmp_path_factory.mktemp("environment")
    (made / "requirements.txt").touch()
    run(folder, "bash", "-ec", INSTALL.format(made, made))
    assert (made / "made" / "bin" / "pip").exists()
