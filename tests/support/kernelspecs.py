"""kernelspecs - the kernelspecs that tests run: ipykernel as it is, and ipykernel behind a few
lines of Python that delay it, spoil it, or look around before it starts.

Each names the environment's interpreter by its path, so a server under test needs no PATH.
"""

import json
import textwrap

from cellblock import PYTHON

# Any bytes will do.
LOGO = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LOGO_SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"

INTERPRETER = f"{PYTHON}/bin/python3"
KERNEL = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]

# Becomes ipykernel; sys.argv[1] is the connection file.
BECOME_KERNEL = (
    "import os, sys; "
    "os.execv(sys.executable, "
    "[sys.executable, '-m', 'ipykernel_launcher', '-f', sys.argv[1]])"
)

# name -> what runs before ipykernel does
BEFORE = {
    # Slow enough that a client which comes at once finds it starting on any machine.
    "slow": "import time; time.sleep(3)",
    "never": "import time; time.sleep(100000)",
    "dies": "import sys; sys.exit('no licence found')",
    # What a kernel inherits, written down before the kernel opens anything of its own.
    "descriptors": textwrap.dedent(
        """
        import json, os
        links = {}
        for name in os.listdir('/proc/self/fd'):
            try:
                links[name] = os.readlink(f'/proc/self/fd/{name}')
            except FileNotFoundError:
                pass  # the descriptor of this listing itself
        with open(os.path.expanduser('~/descriptors.json'), 'w') as file:
            json.dump(links, file)
        """
    ),
}


def arguments(name):
    if name == "python3":
        return [INTERPRETER, *KERNEL]
    return [INTERPRETER, "-c", f"{BEFORE[name]}\n{BECOME_KERNEL}", "{connection_file}"]


def write_kernelspec(folder, name, argv, **members):
    spec = {"argv": argv, "display_name": name, "language": "python", **members}
    (folder / name).mkdir(parents=True)
    (folder / name / "kernel.json").write_text(json.dumps(spec))


def write_kernelspecs(folder, names=("python3", *BEFORE)):
    """Each of these, python3 with logos; returns the folder."""
    for name in names:
        write_kernelspec(folder, name, arguments(name))
    (folder / "python3" / "logo-64x64.png").write_bytes(LOGO)
    (folder / "python3" / "logo-svg.svg").write_bytes(LOGO_SVG)
    return folder
