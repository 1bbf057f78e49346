"""node_steps - runs a script of tests/clients/*.mjs, which is a table of steps (steps.mjs)."""

import json
import subprocess

from cellblock import ROOT

LIMIT_S = 160


class Steps:
    """Call it with a step's name for what the step saw; a step that failed fails the test."""

    def __init__(self, script, *arguments):
        done = subprocess.run(
            ["node", ROOT / "tests" / "clients" / script, *arguments],
            stdout=subprocess.PIPE,
            timeout=LIMIT_S,
            check=True,
        )
        self.seen = json.loads(done.stdout.splitlines()[-1])

    def __call__(self, step):
        assert "error" not in self.seen[step], self.seen[step]["error"]
        return self.seen[step]["value"]
