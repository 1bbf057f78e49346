"""page_commands - the commands that docs/first-steps.md says to type."""

import re

import cellblock

PAGE = cellblock.ROOT / "docs" / "first-steps.md"


def commands():
    """[how JupyterLab is installed, how it is started]"""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2, blocks
    return [block.strip() for block in blocks]
