"""Passes data from one MCP server to another, past the model: rows are read, cleaned and written by the servers for files
and SQLite and by one on the official SDK. The data are random, and every byte that the model receives is searched for
them. A plan is made of each run, which gives the same result without the model.

The model follows a script, in the dialect of OpenAI, written without the gateway's encoders.
"""

import asyncio
import base64
import hashlib
import http.server
import json
import re
import secrets
import sqlite3
import threading
import urllib.error
import urllib.request
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from running import Gateway

CLEAN = Path(__file__).parents[2] / "fixtures/mcp/servers/clean.py"

# Rows of a table whose text has more than 150,000 tokens.
MANY = 16_000

# The tools that the model is offered.
TOOLS = [
    "files_read_text_file",
    "files_read_media_file",
    "files_write_file",
    "slots_drop_missing",
    "writer_write_file",
    "rows_read_query",
    "clean_drop_missing_rows",
    "clean_to_csv",
    "clean_invert",
    "clean_digest",
]

# The path of each dialect, and where its body has the question.
DIALECTS = {
    "openai-chat": ("/v1/chat/completions", "messages"),
    "openai-responses": ("/v1/responses", "input"),
    "anthropic": ("/v1/messages", "messages"),
    "bedrock": ("/model/up%2Fm/converse", "parts"),
    "deepseek": ("/deepseek/chat/completions", "messages"),
    "gemini": ("/v1beta/models/up%2Fm:generateContent", "contents"),
    "ollama": ("/api/chat", "messages"),
    "mistral": ("/mistral/v1/chat/completions", "messages"),
    "cohere": ("/v2/chat", "messages"),
}

TABLES = """
[upstreams.up]
dialect = "openai-chat"
base_url = "{model}/v1"
key = "file:key"

[mcp.files]
command = {files}
hide_results = ["read_media_file"]
[mcp.files.slots.read_text_file]
store = "table"
part = "/content"
reply = "已从 {{path}} 读取数据"

[mcp.slots]
command = {clean}
[mcp.slots.hide.drop_missing]
table = {{ slot = "table" }}
[mcp.slots.slots.drop_missing]
store = "clean"
part = "/csv"

[mcp.writer]
command = {files}
[mcp.writer.hide.write_file]
content = {{ slot = "clean" }}

[mcp.rows]
command = {sqlite}
hide_results = ["read_query"]

[mcp.clean]
command = {clean}
hide_results = ["drop_missing_rows", "to_csv", "invert"]
[mcp.clean.parameters.invert]
data = {{ as = "base64" }}
[mcp.clean.parameters.digest]
data = {{ as = "base64" }}
"""


class Model:
    """A model that follows a script and records every request."""

    def __init__(self):
        self.script, self.bodies = [], []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def follow(self, *script):
        self.script, self.bodies = script, []


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        model = self.server.model
        model.bodies.append(body)
        messages = json.loads(body)["messages"]
        outcomes = [_text(own["content"]) for own in messages if own["role"] == "tool"]
        step = model.script[len(outcomes)](outcomes) if len(outcomes) < len(model.script) else "完成"
        message = {"role": "assistant", "content": step if isinstance(step, str) else None}
        if not isinstance(step, str):
            call = {"name": step[0], "arguments": json.dumps(step[1], ensure_ascii=False)}
            message["tool_calls"] = [{"id": f"call_{len(outcomes)}", "type": "function", "function": call}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        answer = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def _text(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Site:
    """A gateway with the servers, the model and a folder."""

    def __init__(self, gateway, model, folder):
        self.gateway, self.model, self.folder = gateway, model, folder
        self.request_id = None

    def post(self, path, body, headers=None):
        headers = {"content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(f"http://{self.gateway.address}{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request) as reply:
                self.request_id = reply.headers["toolwright-request-id"]
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def ask(self, dialect="openai-chat"):
        """Lets the model follow its script, through the endpoint of a dialect. Returns the reply."""
        path, form = DIALECTS[dialect]
        question = "读取数据，删除缺失数据"
        content = [{"text": question}] if form == "parts" else question
        body = {
            "messages": {"model": "up/m", "max_tokens": 999, "messages": [{"role": "user", "content": question}]},
            "input": {"model": "up/m", "input": question},
            "parts": {"messages": [{"role": "user", "content": content}]},
            "contents": {"contents": [{"role": "user", "parts": [{"text": question}]}]},
        }[form]
        if dialect == "ollama":
            body = {**body, "stream": False}
        return self.post(path, body, {"toolwright-tools": ",".join(TOOLS)})

    def read(self):
        """What the model has read of outcomes, for a failure."""
        messages = json.loads(self.model.bodies[-1])["messages"]
        return [_text(own["content"])[:300] for own in messages if own["role"] == "tool"]

    def tokens(self, text):
        """The tokens of a text, as the gateway counts them."""
        body = {"model": "up/m", "messages": [{"role": "user", "content": text}]}
        return json.loads(self.post("/v1/messages/count_tokens", body))["input_tokens"]


def table(count):
    """A random table, of which a third of the rows lacks a cell. Returns all rows and those that are complete."""
    rows = [[f"{secrets.randbelow(10**12):012}", secrets.token_hex(6)] for _ in range(count)]
    lacking = [[first, None] if index % 3 == 0 else [first, second] for index, (first, second) in enumerate(rows)]
    return lacking, [row for row in lacking if None not in row]


def csv(rows):
    return "".join(f"{','.join(cell or '' for cell in row)}\n" for row in [["id", "name"], *rows])


def leaks(bodies, rows):
    """The cells that the model has received."""
    received = b"\n".join(bodies).decode()
    return sum(cell in received for row in rows for cell in row if cell)


def replay(site, name):
    """Makes a plan of the last run, and runs it without the model. Returns the failures and the outputs."""
    asked = len(site.model.bodies)
    recorded = json.loads(site.post("/v1/plans/record", {"run": site.request_id}))
    if recorded.get("notes") != []:
        return [f"{name}: {recorded}"], {}
    done = json.loads(site.post("/v1/plans", {"plan": recorded["plan"], "wait": True}))
    found = []
    if done.get("status") != "succeeded":
        found.append(f"{name}: the plan {recorded['plan']} ends with {done}")
    if len(site.model.bodies) != asked:
        found.append(f"{name}: the model was asked for the plan")
    return found, done.get("outputs", {})


def again(site, name, target):
    """Runs the plan of the last run, which has to write the same file."""
    expected = target.read_bytes()
    target.unlink()
    found, _ = replay(site, name)
    if not found and (not target.exists() or target.read_bytes() != expected):
        found.append(f"{name}: the plan gives another file")
    return found


def by_slots(site, dialect="openai-chat", count=300):
    """The model names files, and no data."""
    rows, complete = table(count)
    (site.folder / "table.csv").write_text(csv(rows))
    target = site.folder / "clean.csv"
    target.unlink(missing_ok=True)
    site.model.follow(
        lambda _: ("files_read_text_file", {"path": str(site.folder / "table.csv")}),
        # A value for a hidden parameter is not used.
        lambda _: ("slots_drop_missing", {"table": "id,name\n1,mine\n"}),
        lambda _: ("writer_write_file", {"path": str(target)}),
    )
    reply = site.ask(dialect)
    found = []
    if "完成" not in json.dumps(json.loads(reply), ensure_ascii=False):
        found.append(f"slots, {dialect}: {reply[:500]}")
    if not target.exists() or target.read_text() != csv(complete):
        found.append(f"slots, {dialect}: the file is wrong: {site.read()}")
    if seen := leaks(site.model.bodies, rows):
        found.append(f"slots, {dialect}: the model has seen {seen} cells")
    return found or again(site, f"slots, {dialect}", target)


def handle(outcome):
    found = re.search(r"tw:[0-9a-f]{32}", outcome)
    return found[0] if found else "none"


def by_handles(site, count=300):
    """The model passes references, whole and by pointer."""
    rows, complete = table(count)
    database = sqlite3.connect(site.folder / "rows.db")
    database.execute("drop table if exists people")
    database.execute("create table people (id text, name text)")
    database.executemany("insert into people values (?, ?)", rows)
    database.commit()
    database.close()
    target = site.folder / "clean.csv"
    target.unlink(missing_ok=True)
    site.model.follow(
        lambda _: ("rows_read_query", {"query": "select id, name from people order by rowid"}),
        lambda outcomes: ("clean_drop_missing_rows", {"text": handle(outcomes[-1])}),
        lambda outcomes: ("clean_to_csv", {"rows": handle(outcomes[-1]) + "#/rows"}),
        lambda outcomes: ("files_write_file", {"path": str(target), "content": handle(outcomes[-1]) + "#/csv"}),
    )
    reply = site.ask()
    found = []
    if not target.exists() or target.read_text() != csv(complete):
        found.append(f"handles: the file is wrong: {reply[:300]} {site.read()}")
    if seen := leaks(site.model.bodies, rows):
        found.append(f"handles: the model has seen {seen} cells")
    return found or again(site, "handles", target)


def binary(site, size=300_000):
    """A picture goes from the file server to another one and back to it, as base64 that the model does not see."""
    data = secrets.token_bytes(size)
    (site.folder / "picture.png").write_bytes(data)
    site.model.follow(
        lambda _: ("files_read_media_file", {"path": str(site.folder / "picture.png")}),
        lambda outcomes: ("clean_invert", {"data": handle(outcomes[-1])}),
        lambda outcomes: ("clean_digest", {"data": handle(outcomes[-1])}),
    )
    site.ask()
    found, received = [], b"\n".join(site.model.bodies)
    inverted = bytes(255 - byte for byte in data)
    if hashlib.sha256(inverted).hexdigest().encode() not in received:
        found.append(f"binary: the digest is wrong: {site.read()}")
    # Of each picture every piece of 12 bytes, which is 16 characters wherever it starts in a group of three.
    pieces = [base64.b64encode(own[at : at + 12]) for own in (data, inverted) for at in range(0, size - 12, 3)]
    windows = {received[at : at + 16] for at in range(len(received))}
    if any(piece in windows for piece in pieces):
        found.append("binary: the model has seen the picture")
    failed, outputs = replay(site, "binary")
    if hashlib.sha256(inverted).hexdigest() not in json.dumps(outputs):
        failed.append(f"binary: the plan gives {str(outputs)[:300]}")
    return found + failed


async def _direct(commands, folder):
    """The results of the three tools without a gateway, as a client passes them to a model."""

    async def call(command, name, arguments):
        async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
            result = await client.call_tool(name, arguments)
            return result.structured_content or result.content[0].text

    read = await call(commands["files"], "read_text_file", {"path": str(folder / "table.csv")})
    clean = await call(commands["clean"], "drop_missing", {"table": read["content"]})
    return read["content"], json.dumps(clean), clean["csv"]


def without(site, commands):
    """What the model receives and writes if the data go through it: the same three calls, with the servers' own results."""
    read, cleaned, text = asyncio.run(_direct(commands, site.folder))
    first = json.loads(site.model.bodies[0])
    path = {"path": str(site.folder / "table.csv")}
    steps = [
        ("files_read_text_file", path, read),
        ("slots_drop_missing", {"table": read}, cleaned),
        ("writer_write_file", {"path": str(site.folder / "clean.csv"), "content": text}, "ok"),
    ]
    messages, bodies, written = first["messages"], [json.dumps(first, ensure_ascii=False)], []
    for number, (name, arguments, outcome) in enumerate(steps):
        written.append(json.dumps(arguments, ensure_ascii=False))
        call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": written[-1]}}
        messages = [*messages, {"role": "assistant", "tool_calls": [call]}]
        messages = [*messages, {"role": "tool", "tool_call_id": call["id"], "content": outcome}]
        bodies.append(json.dumps({**first, "messages": messages}, ensure_ascii=False))
    return sum(map(site.tokens, bodies)), sum(map(site.tokens, written)), site.tokens(read)


async def wait(address):
    """Waits until the gateway lists all tools. Returns a failure for each that it does not list."""
    async with Client(f"http://{address}/mcp") as client:
        for _ in range(90):
            listed = {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}
            missing = [name for name in TOOLS if name not in listed]
            if not missing:
                break
            await asyncio.sleep(1)
    return [f"the tool {name} is not listed" for name in missing]


async def over_mcp(site):
    """The same by slots with the official client, in both eras, and a large result with its resource."""
    found = []
    for mode in ("auto", "legacy"):
        rows, complete = table(2000)
        (site.folder / "table.csv").write_text(csv(rows))
        target = site.folder / "clean.csv"
        target.unlink(missing_ok=True)
        # A session is a conversation; without one, the metadata name it.
        meta = {"toolwright-conversation": secrets.token_hex(8)} if mode == "auto" else None
        async with Client(f"http://{site.gateway.address}/mcp", mode=mode) as client:
            await client.list_tools()
            path = {"path": str(site.folder / "table.csv")}
            replies = [
                await client.call_tool("files_read_text_file", path, meta=meta),
                await client.call_tool("slots_drop_missing", {}, meta=meta),
                await client.call_tool("writer_write_file", {"path": str(target)}, meta=meta),
            ]
            if not target.exists() or target.read_text() != csv(complete):
                found.append(f"MCP, {mode}: the file is wrong: {replies}")
            if seen := leaks([reply.model_dump_json().encode() for reply in replies], rows):
                found.append(f"MCP, {mode}: the client has seen {seen} cells")
            # The client checks structured content against the schema that was listed.
            large = await client.call_tool("clean_to_csv", {"rows": [{"id": "x" * 50_000}]}, meta=meta)
            link = large.content[-1]
            value = await client.read_resource(str(link.uri), meta=meta)
            if "x" * 50_000 not in value.contents[0].text or link.name not in json.dumps(large.structured_content):
                found.append(f"MCP, {mode}: {large} {value}")
            try:
                await client.read_resource("toolwright://handle/tw:" + "0" * 32, meta=meta)
                found.append(f"MCP, {mode}: an unknown handle was read")
            except Exception as error:
                if "not found" not in str(error):
                    found.append(f"MCP, {mode}: {error}")
    return found


def run(binary_path, folder, modules, venv, sqlite):
    """All of it. Prints the tokens with and without. Returns the failures."""
    folder.mkdir()
    package = str(modules / "@modelcontextprotocol/server-filesystem/dist/index.js")
    commands = {
        "files": [str(modules / ".bin/node"), package, str(folder)],
        "clean": [str(venv / "bin/python"), str(CLEAN)],
        "sqlite": [str(sqlite / "bin/mcp-server-sqlite"), "--db-path", str(folder / "rows.db")],
    }
    with Model() as model:
        path = folder / "toolwright.toml"
        words = {name: json.dumps(command) for name, command in commands.items()}
        path.write_text(TABLES.format(model=model.address, **words))
        (folder / "key").write_text("script")
        with Gateway(binary_path, "--config", str(path)) as gateway:
            site = Site(gateway, model, folder)
            if found := asyncio.run(wait(gateway.address)):
                return [*found, gateway.log.read_text()]
            for dialect in DIALECTS:
                found += by_slots(site, dialect)
            found += by_handles(site, MANY)
            handles = sum(map(site.tokens, (body.decode() for body in model.bodies)))
            found += binary(site)
            pictures = sum(map(site.tokens, (body.decode() for body in model.bodies)))
            found += asyncio.run(over_mcp(site))
            found += by_slots(site, count=MANY)
            slots = sum(map(site.tokens, (body.decode() for body in model.bodies)))
            received, wrote, table_tokens = without(site, commands)
    print(f"a table of {table_tokens} tokens is read, cleaned and written; the model receives in all requests:")
    print(f"  {received} tokens if the data go through it, and writes {wrote}")
    print(f"  {slots} tokens with slots, {handles} with handles ({pictures} for a picture)")
    if table_tokens < 150_000:
        found.append(f"the table has only {table_tokens} tokens")
    if max(slots, handles) * 20 > received:
        found.append("slots or handles save less than 95 % of the tokens")
    return found
