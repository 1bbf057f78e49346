"""make_home FOLDER - makes what the workspace of every session begins with: matplotlib's list of
fonts, so that no session searches for them, and a matplotlibrc that draws what the default font
lacks with others. Run by the Python of the kernels' environment."""

import dataclasses
import os
import pathlib
import sys

# Outline fonts: matplotlib draws no bitmaps, so no colour emoji. Packages: gateway/packages.txt.
FALLBACKS = ("WenQuanYi Micro Hei", "Symbola")

SETTINGS = """\
# Chinese, Japanese and Korean text, symbols and emoji come from the fonts behind the first.
# This file is yours.
font.family: {}
"""


def add_weights(font_manager, fonts):
    """Each has one weight, and matplotlib complains for every text of another, whether the text
    needs the font or not."""
    listed = font_manager.fontManager.ttflist
    for font in fonts:
        for weight in set(font_manager.weight_dict.values()) - {font.weight}:
            listed.append(dataclasses.replace(font, weight=weight))


def main(folder):
    cache = folder / ".cache" / "matplotlib"
    settings = folder / ".config" / "matplotlib" / "matplotlibrc"
    os.environ["MPLCONFIGDIR"] = str(cache)
    try:
        from matplotlib import font_manager  # writes its list
    except ImportError:
        return
    fonts = [font for font in font_manager.fontManager.ttflist if font.name in FALLBACKS]
    add_weights(font_manager, fonts)
    (listed,) = cache.glob("fontlist-*.json")
    font_manager.json_dump(font_manager.fontManager, listed)
    there_are = {font.name for font in fonts}
    families = ["sans-serif", *(name for name in FALLBACKS if name in there_are)]
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS.format(", ".join(families)))


main(pathlib.Path(sys.argv[1]))
