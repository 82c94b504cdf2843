"""The processes in which the SDKs run: they read cells, and write the SDKs' results."""

import concurrent.futures
import json
import os
import subprocess

from gateway import expect

# A timeout that only a process that hangs reaches.
_LIMIT = 300


class Drivers:
    """Commands by name: `python`, `previous`, `js`."""

    def __init__(self, commands):
        self._commands = commands

    def has(self, name):
        """Whether a driver is available."""
        return name in self._commands

    def run(self, cells, address):
        """Drives all cells concurrently, and checks them. `address(cell)` returns base and key."""
        groups = {}
        for cell in cells:
            groups.setdefault(cell.row.driver, []).append(cell)
        with concurrent.futures.ThreadPoolExecutor(max(len(groups), 1)) as pool:
            list(pool.map(lambda item: self._group(*item, address), groups.items()))

    def _group(self, driver, cells, address):
        command, variables = self._commands[driver]
        lines = [json.dumps(_asked(cell, *address(cell))) for cell in cells]
        done = subprocess.run(
            command,
            input="\n".join(lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_LIMIT,
            env={**os.environ, **variables},
        )
        seen = {}
        for line in done.stdout.splitlines():
            found = json.loads(line)
            seen[found["cell"]] = found
        nothing = {"error": f"the driver ended with {done.returncode}: {done.stderr[-500:]}"}
        for cell in cells:
            expect.client(cell, seen.get(cell.tag, nothing))


def _asked(cell, base, key, model):
    return {
        "cell": cell.tag,
        "dialect": cell.row.dialect,
        "base": base,
        "key": key,
        "model": model,
        "stream": cell.stream,
    }
