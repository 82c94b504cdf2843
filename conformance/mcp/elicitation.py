"""The form of server-everything, filled in by a client of either era and on the terminal."""

import os
import pty
import select
import subprocess

from mcp import Client
from mcp.types import ElicitResult

TOOL = "trigger-elicitation-request"
ANSWER = {"name": "Ada 阿达", "check": True, "email": "ada@example.com", "integer": 36}


async def through(address):
    """Calls the tool through the gateway."""
    failures = []

    async def fill(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content=ANSWER)

    for mode in ("auto", "legacy"):
        asked = []
        async with Client(f"http://{address}/mcp", mode=mode, elicitation_callback=fill) as client:
            result = await client.call_tool(f"everything_{TOOL}", {})
        text = result.model_dump_json()
        if result.is_error or len(asked) != 1 or ANSWER["name"] not in text:
            failures.append(f"elicitation, {mode}: asked {asked}, {text}")
    return failures


def terminal(binary, config):
    """Calls the tool from the command line, and answers as a person would."""
    parent, child = pty.openpty()
    command = [binary, "mcp", "test", "everything", TOOL, "--config", config]
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child)
    os.close(child)
    seen, is_form = "", False
    while len(seen) < 10_000 and select.select([parent], [], [], 60)[0]:
        try:
            seen += os.read(parent, 4096).decode(errors="replace")
        except OSError:
            # The other side is closed.
            break
        if seen.endswith("[y/N] "):
            is_form, answer = True, "y"
        elif is_form and seen.endswith(": "):
            answer = ANSWER["name"] if "legal name" in seen.splitlines()[-1] else ""
        else:
            continue
        os.write(parent, f"{answer}\n".encode())
    process.kill()
    code = process.wait()
    result = seen.split("User provided")[-1]
    return [] if code == 0 and ANSWER["name"] in result else [f"elicitation on the terminal: {code}: {seen}"]
