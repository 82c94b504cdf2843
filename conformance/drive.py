"""Drives SDKs: reads a JSON line for each cell from stdin, and writes one with the SDK's results.

A cell is `{"cell", "dialect", "base", "key", "model", "stream"}`. `conformance/js/drive.mjs` is the
same for JavaScript.
"""

import concurrent.futures
import functools
import json
import os
import sys
import traceback
import warnings

# The SDKs must not use a proxy for the loopback server.
for variable in ("http_proxy", "https_proxy", "all_proxy"):
    os.environ.pop(variable, None)
    os.environ.pop(variable.upper(), None)

from gateway import clients

warnings.filterwarnings("ignore")


@functools.lru_cache(maxsize=None)
def _client(dialect, base, key):
    return clients.module(dialect).connect(base, key)


def drive(asked):
    """Runs both turns of a cell."""
    seen = {"cell": asked["cell"]}
    try:
        driver = clients.module(asked["dialect"])
        client = _client(asked["dialect"], asked["base"], asked["key"])
        turn = driver.first(client, asked["model"], asked["stream"])
        seen["first"] = turn.record()
        seen["second"] = driver.second(client, asked["model"], asked["stream"], turn).record()
    except Exception as error:  # an exception of any class is the SDK's verdict
        where = traceback.extract_tb(error.__traceback__)[-1]
        seen["error"] = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    return seen


def main():
    """Runs the command."""
    asked = [json.loads(line) for line in sys.stdin if line.strip()]
    # Before threads start: not every SDK can be imported or constructed concurrently.
    for each in asked:
        _client(each["dialect"], each["base"], each["key"])
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for seen in pool.map(drive, asked):
            print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
