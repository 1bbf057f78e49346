"""page - docs/clients.md, and the examples on it."""

import re

import cellblock

PAGE = (cellblock.ROOT / "docs" / "clients.md").read_text()


def block(language, heading):
    """The one block of a language below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return found
