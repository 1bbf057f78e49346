"""write_kernelspec - merges a file of ours into the kernel.json of a folder: `write_kernelspec.py
FOLDER OURS [NAME=VALUE ...]`. Members of OURS win, objects are merged, and each @NAME@ in it stands
for VALUE. The folder and its kernel.json need not be there."""

import json
import pathlib
import sys


def merge(base, ours):
    if not isinstance(ours, dict) or not isinstance(base, dict):
        return ours
    return base | {name: merge(base.get(name, {}), value) for name, value in ours.items()}


def main():
    folder, ours = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    for word in sys.argv[3:]:
        name, _, value = word.partition("=")
        ours = ours.replace(f"@{name}@", json.dumps(value)[1:-1])
    folder.mkdir(parents=True, exist_ok=True)
    path, new = folder / "kernel.json", folder / "kernel.json.new"
    base = json.loads(path.read_text()) if path.exists() else {}
    new.write_text(json.dumps(merge(base, json.loads(ours)), indent=2) + "\n")
    new.replace(path)


if __name__ == "__main__":
    main()
