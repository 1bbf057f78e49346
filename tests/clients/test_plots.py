"""Plots with text of many scripts: no glyph is missing, no session searches for fonts, and the
user's own settings win."""

import base64
import time

import cellblock
import pytest
from channels import Channels
from rest import Rest

PLOT = """
import time, warnings
warnings.simplefilter("error")
import matplotlib, matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot([3, -1, 2])
axes.set_title("图表：数据分析　圖表")
axes.set_xlabel("グラフの横軸 漢字かな")
axes.set_ylabel("그래프 한국어", weight="bold")
axes.annotate("\\N{GRINNING FACE} \\N{SNAKE} \\N{ROCKET} \\N{HEAVY BLACK HEART}", (0.2, 1))
axes.annotate("Ω ≈ ∑ ñ é ß → \\N{MINUS SIGN}1", (1.2, 2))
plt.show()
"""


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(kernels=kernels) as server:
        yield server


@pytest.fixture
def channels(serve):
    rest = Rest(serve)
    kernel_id = rest.start_kernel()
    with Channels(serve, kernel_id) as channels:
        yield channels
    rest.end_kernel(kernel_id)


def run(channels, code):
    """What was shown, and what was written."""
    answer = channels.run(code)
    assert answer.content["status"] == "ok", "\n".join(answer.content["traceback"])
    return answer


def test_no_glyph_is_missing(channels):
    """Warnings are errors; matplotlib's log would be on stderr."""
    start = time.monotonic()
    answer = run(channels, PLOT)
    took_s = time.monotonic() - start
    (shown,) = answer.of_kind("display_data")
    picture = cellblock.LOGS / "plot.png"
    picture.write_bytes(base64.b64decode(shown["content"]["data"]["image/png"]))
    print(f"the first plot took {took_s:.2f} s; it is {picture}")
    assert answer.of_kind("stream") == []


def test_nobody_searches_for_fonts(channels):
    """A session that had to would have written its own list."""
    code = """
import os, time
folder = os.path.expanduser("~/.cache/matplotlib")
before = {name: os.stat(f"{folder}/{name}").st_mtime_ns for name in os.listdir(folder)}
import matplotlib.font_manager
print(before == {name: os.stat(f"{folder}/{name}").st_mtime_ns for name in os.listdir(folder)},
      len(before), os.access(folder, os.W_OK), os.stat(folder).st_uid == os.getuid())
"""
    assert run(channels, code).text == "True 1 True True\n"


def test_the_users_own_settings_win(channels):
    code = """
import os
folder = os.path.expanduser("~/.config/matplotlib")
with open(f"{folder}/matplotlibrc", "w") as file:
    file.write("font.family: monospace\\nlines.linewidth: 7\\n")
import matplotlib
print(matplotlib.rcParams["font.family"], matplotlib.rcParams["lines.linewidth"])
"""
    assert run(channels, code).text == "['monospace'] 7.0\n"
