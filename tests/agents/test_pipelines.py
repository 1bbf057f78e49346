"""papermill's pipelines: parameters, and how a notebook ends. nbclient and nbconvert are in
tests/clients/test_nbclient.py."""

import papermill_runs
import pytest
from papermill_runs import Notebook
from rest import Rest

NOTEBOOKS = {
    "parameters": Notebook({"n": 3, "word": "ab"}, ("n = 1\nword = ''", "print(word * n)")),
    "an error": Notebook({}, ("n = 1", "print('one')", "n / 0", "print('two')")),
    "a dead kernel": Notebook({}, ("n = 1", "import os\nos.kill(os.getpid(), 9)", "print('two')")),
}


@pytest.fixture(scope="module")
def executed(serve, prefix_url, tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    return papermill_runs.execute(folder, NOTEBOOKS, JUPYTER_GATEWAY_URL=prefix_url)


def test_parameters(executed):
    assert executed["parameters"] == (None, ["ababab\n"])


def test_an_error_stops_the_notebook(executed):
    assert executed["an error"] == (["ZeroDivisionError", "division by zero"], ["one\n"])


def test_a_dead_kernel_stops_the_notebook(executed):
    (_, reason), texts = executed["a dead kernel"]
    assert "SIGKILL" in reason and not texts


def test_no_kernel_is_left(serve, executed):
    assert Rest(serve).kernel_ids() == set()
