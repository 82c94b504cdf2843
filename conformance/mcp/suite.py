"""Judges the MCP server and the MCP client with the official conformance suite, and drives six real servers behind one
gateway with the official clients and the SDKs of model vendors, while they work, while they fail, and while they pass data
to each other. Left out is only what `left_out.json` names.

`package.json` replaces vite, which the inspector's command line does not use, and whose parts for other systems make the
lock file incomplete."""

import argparse
import asyncio
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import elicitation
import faults
import passing
import servers
from running import Gateway, children, left

HERE = Path(__file__).parent
LEFT_OUT = json.loads((HERE / "left_out.json").read_text())
SERVER_RUNS = [["--requirements", "2026-07-28"], ["--suite", "all", "--spec-version", "2025-11-25"]]
CLIENT_VERSIONS = ["2025-11-25", "2026-07-28"]


def left_out(side, scenario):
    return any(fnmatch.fnmatch(scenario, pattern) for pattern in LEFT_OUT[side])


def judge_server(fixtures, tools):
    """Every server scenario of both requirement sets."""
    failures, passed = [], 0
    with Gateway(fixtures, command=()) as gateway:
        for options in SERVER_RUNS:
            command = [tools / "conformance", "server", "--url", f"http://{gateway.address}/mcp", *options]
            output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            summary = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", output, re.MULTILINE)
            if len(summary) < 30:
                sys.exit(f"the suite did not run:\n{output[-3000:]}")
            for mark, scenario, *_ in summary:
                if left_out("server", scenario):
                    continue
                if mark == "✓":
                    passed += 1
                else:
                    failures.append(f"server {' '.join(options)}: {scenario}")
    return passed, failures


def judge_client(client, tools):
    """Every client scenario of both versions; one of an extension or of another version alone is run as such."""
    listing = subprocess.run([tools / "conformance", "list"], capture_output=True, text=True, check=True).stdout
    section = listing.split("Client scenarios")[1].split("Authorization server scenarios")[0]
    scenarios = re.findall(r"^  - (\S+) \[(.*)\]", section, re.MULTILINE)
    failures, passed = [], 0
    for scenario, versions in scenarios:
        versions = versions.split(",")
        for version in [own for own in CLIENT_VERSIONS if own in versions] or versions[-1:]:
            if left_out("client", scenario):
                continue
            command = [tools / "conformance", "client", "--command", str(client), "--scenario", scenario]
            command += ["--spec-version", version] if version != "extension" else []
            both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            output = subprocess.run(command, **both, text=True, check=False).stdout
            if "OVERALL: PASSED" in output:
                passed += 1
            else:
                failures.append(f"client {version}: {scenario}\n{output[-1500:]}")
    return passed, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--fixtures", required=True, type=Path)
    parser.add_argument("--client", required=True, type=Path)
    parser.add_argument("--packages", required=True, type=Path)
    parser.add_argument("--venv", required=True, type=Path)
    parser.add_argument("--sqlite-venv", required=True, type=Path)
    parser.add_argument("--chat-venv", required=True, type=Path)
    options = parser.parse_args()
    binary, client = options.binary.absolute(), options.client.absolute()
    modules = options.packages.absolute() / "node_modules"
    tools = modules / ".bin"
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    server_passed, failures = judge_server(options.fixtures.absolute(), tools)
    print(f"server scenarios: {server_passed} passed, {len(failures)} failed")
    client_passed, failed = judge_client(client, tools)
    print(f"client scenarios: {client_passed} passed, {len(failed)} failed")
    failures += failed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = servers.configuration(folder, modules, options.venv.absolute(), options.sqlite_venv.absolute())
        with Gateway(binary, "--config", str(path)) as gateway:
            failed = asyncio.run(servers.wait(gateway.address))
            failed = failed or asyncio.run(servers.python(gateway.address, folder))
            failed += servers.inspector(gateway.address, folder, tools)
            failed += servers.typescript(gateway.address, folder, modules)
            failed += asyncio.run(elicitation.through(gateway.address))
            started = children(gateway.process.pid)
            if len(started) < len(servers.SAMPLES):
                failed.append(f"only {len(started)} processes run")
        failed += left(started)
        interpreter = options.chat_venv.absolute() / "bin/python"
        failed += servers.chat(binary, folder, path, interpreter)
        failed += servers.named(binary, folder, options.venv.absolute(), interpreter)
        failed += elicitation.terminal(binary, path)
        print(f"six servers behind one gateway: {len(failed)} failures")
        failed += faults.under_load(binary, folder, path)
        failed += faults.reloads(binary, folder, options.venv.absolute())
        environments = (options.venv.absolute(), options.sqlite_venv.absolute())
        failed += passing.run(binary, folder / "passing", modules, *environments)
    failures += failed
    if failures:
        sys.exit("\n".join(failures))


main()
