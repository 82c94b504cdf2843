"""Runs the clients: libraries in one process for each, command lines in one for each conversation."""

import base64
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

from agents.scenario import IMAGE

_HOME = pathlib.Path(__file__).parent
# Seconds for all conversations of one library, on a slow machine.
_LIMIT = 1200
_AT_ONCE = 2


def run(cells, environments, address):
    """Runs all cells. `environments` has the installed packages, `address(cell)` returns base, key, model."""
    groups = {}
    for cell in cells:
        groups.setdefault((cell.client.environment, cell.client.name), []).append(cell)
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        done = [pool.submit(_group, group, environments, address) for group in groups.values()]
        for each in done:
            each.result()


def _group(cells, environments, address):
    environment = cells[0].client.environment
    if cells[0].client.is_coding_agent:
        # Imported here, because that module imports this one.
        from agents import cli

        bin = environments / environment / "node_modules" / ".bin"
        for cell in cells:
            cli.run(cell, cell.folder, bin, address(cell))
        return
    if environment == "js":
        node = environments / "js" / "node_modules" / ".bin" / "node"
        command = [str(node), str(environments / "js" / "drive.mjs")]
    else:
        python = environments / environment / "bin" / "python"
        command = [str(python), str(_HOME / "drivers" / "drive.py")]
    lines = [json.dumps(_asked(cell, *address(cell))) for cell in cells]
    try:
        done = subprocess.run(
            command,
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            env=quiet(),
        )
        out, nothing = (
            done.stdout,
            f"the driver exited with {done.returncode}: {done.stderr[-800:]}",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        out, nothing = getattr(error, "stdout", None) or "", str(error)
        out = out.decode("utf-8", "replace") if isinstance(out, bytes) else out
    seen = {}
    for line in out.splitlines():
        if line.startswith('{"cell"'):
            found = json.loads(line)
            seen[found["cell"]] = found
    for cell in cells:
        judge(cell, seen.get(cell.tag, {"error": nothing}))


def _asked(cell, base, key, model):
    return {
        "cell": cell.tag,
        "module": cell.client.module,
        "variant": cell.client.variant,
        "base": base,
        "key": key,
        "model": model,
        "stream": cell.stream,
        "prompts": [step.prompt for step in cell.steps if step.prompt],
        "image": base64.b64encode(IMAGE).decode(),
    }


def quiet():
    """The environment of a client: no vendor's keys, no telemetry, no network except loopback."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not re.search(
            r"(?i)api_key|^aws_|_proxy$|^ollama|^openai|^anthropic|^google|^gemini", name
        )
    }
    unreachable = "http://127.0.0.1:9"
    return {
        **kept,
        "HTTPS_PROXY": unreachable,
        "HTTP_PROXY": unreachable,
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def judge(cell, seen):
    """Reports a failure unless the client returned both answers. `seen` is the driver's output."""
    if "error" in seen:
        cell.complain("reply", seen["error"][:1500])
    answers = cell.answers()
    texts = seen.get("texts") or []
    for number, wanted in enumerate(answers):
        found = texts[number] if number < len(texts) else None
        if wanted not in (found or ""):
            cell.complain("reply", f"answer {number + 1} is {found!r}, not {wanted!r}")
    if len(cell.replies) < len(cell.steps):
        cell.complain("request", f"{len(cell.replies)} of {len(cell.steps)} requests came")
    if cell.stream and texts and seen.get("pieces", 2) < 2:
        cell.complain("reply", f"the text came in {seen['pieces']} pieces: not streamed")
