"""Six servers on the official SDKs behind one gateway, driven by the official clients for Python and TypeScript and by
the inspector."""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path

from mcp import Client

# For each server: the number of its tools, a tool, its arguments, and a text of its result.
SAMPLES = {
    "everything": (13, "echo", {"message": "你好 hello"}, "你好 hello"),
    "files": (14, "read_text_file", {"path": "{folder}/note.txt"}, "a note"),
    "memory": (9, "read_graph", {}, "entities"),
    "git": (12, "git_status", {"repo_path": "{folder}/repo"}, "branch"),
    "time": (2, "get_current_time", {"timezone": "Asia/Shanghai"}, "Asia/Shanghai"),
    "sqlite": (6, "read_query", {"query": "select 12345678901234567 as n"}, "12345678901234567"),
}


def configuration(folder, modules, venv, sqlite):
    """Six servers on the official SDKs."""
    (folder / "note.txt").write_text("a note")
    subprocess.run(["git", "init", "-q", "-b", "main", folder / "repo"], check=True)
    node = modules / ".bin/node"
    package = lambda name: str(modules / f"@modelcontextprotocol/{name}/dist/index.js")
    commands = {
        "everything": [str(node), package("server-everything"), "stdio"],
        "files": [str(node), package("server-filesystem"), str(folder)],
        "memory": [str(node), package("server-memory")],
        "git": [str(venv / "bin/mcp-server-git"), "--repository", str(folder / "repo")],
        "time": [str(venv / "bin/mcp-server-time")],
        "sqlite": [str(sqlite / "bin/mcp-server-sqlite"), "--db-path", str(folder / "rows.db")],
    }
    tables = [f"[mcp.{name}]\ncommand = {json.dumps(command)}\n" for name, command in commands.items()]
    memory = f'[mcp.memory.env]\nMEMORY_FILE_PATH = "{folder}/memory.json"\n'
    path = folder / "toolwright.toml"
    path.write_text("\n".join([*tables, memory]))
    return path


def samples(folder):
    """A call of each server, by its name at the gateway."""
    found = []
    for server, (count, tool, arguments, expected) in SAMPLES.items():
        arguments = {key: value.format(folder=folder) for key, value in arguments.items()}
        own = {"server": server, "count": count, "name": f"{server}_{tool}"}
        found.append({**own, "arguments": arguments, "expected": expected})
    return found


async def wait(address):
    """Waits until the gateway lists tools of all servers. Returns those that it does not list."""
    async with Client(f"http://{address}/mcp") as client:
        for _ in range(90):
            listed = [tool.name for tool in (await client.list_tools()).tools]
            missing = [name for name in SAMPLES if not any(own.startswith(f"{name}_") for own in listed)]
            if not missing:
                break
            await asyncio.sleep(1)
    return [f"no tools of {name}" for name in missing]


async def python(address, folder):
    """Lists all tools and calls one of each server, with the SDK for Python, in both eras."""
    failures = []
    for mode in ("auto", "legacy"):
        async with Client(f"http://{address}/mcp", mode=mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            for sample in samples(folder):
                own = [name for name in listed if name.startswith(f"{sample['server']}_")]
                if len(own) < sample["count"]:
                    failures.append(f"{sample['server']}: {len(own)} tools, not {sample['count']}: {own}")
                result = await client.call_tool(sample["name"], sample["arguments"])
                if result.is_error or sample["expected"] not in result.model_dump_json():
                    failures.append(f"{mode}, {sample['name']}: {result}")
    return failures


def inspector(address, folder, tools):
    """The same with the official inspector, in the era with a handshake."""
    failures = []
    base = [tools / "mcp-inspector", "--cli", f"http://{address}/mcp", "--transport", "http"]
    output = subprocess.run([*base, "--method", "tools/list"], capture_output=True, text=True, check=False)
    names = re.findall(r'^      "name": "(\w[^"]*)"', output.stdout, re.MULTILINE)
    for sample in samples(folder):
        if sample["name"] not in names:
            failures.append(f"the inspector does not list {sample['name']}: {output.stderr[-500:]}")
        call = [*base, "--method", "tools/call", "--tool-name", sample["name"]]
        for key, value in sample["arguments"].items():
            call += ["--tool-arg", f"{key}={value}"]
        result = subprocess.run(call, capture_output=True, text=True, check=False)
        if sample["expected"] not in result.stdout:
            failures.append(f"inspector, {sample['name']}: {result.stdout} {result.stderr[-500:]}")
    return failures


def typescript(address, folder, modules):
    """The same with the SDK for TypeScript."""
    # Imports are found beside the packages.
    script = modules.parent / "typescript.mjs"
    script.write_text(Path(__file__).with_name("typescript.mjs").read_text())
    return _judge([modules / ".bin/node", script, address, json.dumps(samples(folder))])


def chat(binary, folder, tables, interpreter):
    """The same with the SDKs of OpenAI and Anthropic, through the chat endpoints of another gateway."""
    return _with_sdks(interpreter, "chat.py", binary, folder / "chat", tables, json.dumps(samples(folder)))


def named(binary, folder, venv, interpreter):
    """A server that requests name themselves."""
    return _with_sdks(interpreter, "named.py", binary, folder / "named", venv / "bin/mcp-server-time")


def _with_sdks(interpreter, name, *arguments):
    script = Path(__file__).with_name(name)
    environment = {**os.environ, "PYTHONPATH": str(script.parent.parent)}
    return _judge([interpreter, script, *arguments], environment)


def _judge(command, environment=None):
    """Runs a program that prints its failures as JSON."""
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if output.returncode:
        return [f"{command[1]}: {output.stdout[-1500:]} {output.stderr[-1500:]}"]
    return json.loads(output.stdout.splitlines()[-1])
