"""Runs Python clients: a JSON line for each cell on stdin, one with the client's results on stdout.

It runs in the client's own environment, so it imports nothing else of `conformance`.
"""

import asyncio
import importlib
import json
import sys
import traceback
import warnings

from converse import Talk

warnings.filterwarnings("ignore")
_AT_ONCE = 4
# Seconds for one conversation, on a slow machine.
_LIMIT = 120


async def _drive(line, gate):
    asked = json.loads(line)
    seen = {"cell": asked["cell"]}
    async with gate:
        try:
            module = importlib.import_module(f"converse.{asked['module']}")
            talk = Talk(asked)
            talking = module.converse(talk)
            seen["texts"] = await asyncio.wait_for(talking, _LIMIT)
            seen["pieces"] = talk.pieces
        # An exception of any class is the client's verdict.
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{last.filename}:{last.lineno}"
            seen["error"] = f"{type(error).__name__}: {error} ({where})"
    print(json.dumps(seen), flush=True)


async def _main():
    gate = asyncio.Semaphore(_AT_ONCE)
    await asyncio.gather(*(_drive(line, gate) for line in sys.stdin.read().splitlines() if line))


asyncio.run(_main())
