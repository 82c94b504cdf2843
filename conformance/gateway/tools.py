"""Tools that the gateway runs itself, invisibly to the SDKs: one question, one answer.

The upstreams replay recorded turns, in which the calls are replaced by calls of the gateway's tools:
`list_files` finds a file by a nonce, `read_file` finds nothing and fails.
"""

import http.server
import json
import re
import threading

import anthropic
import openai

import dialects
from gateway import replay, serve, upstreams
from strict import Rejected, need

_TOOLS = "list_files, read_file"
_CALLS = {"get_weather": ("list_files", "{}"), "search_flights": ("read_file", None)}
_TAG = re.compile(r"t[0-9a-f]{8}")
_CLIENTS = ("openai-chat", "anthropic")


class Cell:
    """One client, one upstream, whole or streaming."""

    def __init__(self, client, upstream, stream, number):
        self.client = client
        self.upstream = upstream
        self.stream = stream
        self.tag = f"t{number:08x}"
        self.requests = []
        self.complaint = None

    @property
    def name(self):
        """Its name in messages."""
        mode = "stream" if self.stream else "whole"
        return f"tools, {self.client} → {self.upstream}, {mode}"

    @property
    def file(self):
        """The file that exists."""
        return f"there-{self.tag}.txt"

    @property
    def missing(self):
        """The file that does not exist."""
        return f"missing-{self.tag}.txt"


class Vendor:
    """An upstream that makes two calls, then answers."""

    version = None
    models = ()

    def __init__(self, dialect):
        self.vendor = upstreams.module(dialect)
        self.judge = dialects.module(dialect)
        self.key = f"upstream-{dialect}"
        self.cells = {}
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.vendor = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path, body):
        """The content type and the bytes of a reply."""
        cell = self.cells[_TAG.search(body["model"])[0]]
        cell.requests.append(body)
        try:
            self.judge.request(path, body)
        except Rejected as error:
            cell.complaint = cell.complaint or str(error)
        names = self.vendor
        files = (names.TOOLS_STREAM, names.FINAL_STREAM)
        if not cell.stream:
            files = (names.TOOLS, names.FINAL)
        name = files[min(len(cell.requests), 2) - 1]
        text = (replay.FIXTURES / names.DIALECT / "accepted" / name).read_text("utf-8")
        if len(cell.requests) > 1:
            text, count = re.subn("再试。", f"再试。{cell.tag}", text)
            need(count, "replay", f"{name} has no place for the nonce")
        elif cell.stream:
            text = _stream(text, cell)
        else:
            text = json.dumps(_whole(json.loads(text), cell), ensure_ascii=False)
        kind = names.CONTENT_TYPE if cell.stream else "application/json"
        return kind, text.encode("utf-8")


def _ours(name, cell):
    tool, arguments = _CALLS[name]
    return tool, arguments or json.dumps({"path": cell.missing})


def _whole(body, cell):
    """A recorded answer with calls of the gateway's tools."""
    for call in body.get("choices", [{}])[0].get("message", {}).get("tool_calls") or []:
        own = call["function"]
        own["name"], own["arguments"] = _ours(own["name"], cell)
    for block in body.get("content") or []:
        if block["type"] == "tool_use":
            block["name"], arguments = _ours(block["name"], cell)
            block["input"] = json.loads(arguments)
    return body


def _stream(text, cell):
    """A recorded stream with calls of the gateway's tools, whose arguments are not split."""
    waiting = {}
    lines = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            _chunk(event, cell, waiting)
            line = "data: " + json.dumps(event, ensure_ascii=False)
        lines.append(line)
    need(not any(waiting.values()), "replay", "the recording has no place for arguments")
    return "\n".join(lines) + "\n\n"


def _chunk(event, cell, waiting):
    for choice in event.get("choices") or []:
        for call in choice["delta"].get("tool_calls") or []:
            own, at = call["function"], call["index"]
            if own.get("name"):
                own["name"], waiting[at] = _ours(own["name"], cell)
            own["arguments"], waiting[at] = waiting[at], ""
    block = event.get("content_block") or {}
    if block.get("type") == "tool_use":
        block["name"], waiting[event["index"]] = _ours(block["name"], cell)
    delta = event.get("delta") or {}
    if delta.get("type") == "input_json_delta":
        delta["partial_json"], waiting[event["index"]] = waiting[event["index"]], ""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        kind, reply = self.server.vendor.answer(self.path, json.loads(data))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def _openai(address, model, stream):
    """The text, the calls, the stop reason, the usage."""
    headers = {"toolwright-tools": _TOOLS}
    client = openai.OpenAI(
        base_url=f"{address}/v1", api_key="client", max_retries=0, default_headers=headers
    )
    asked = {"model": model, "messages": [{"role": "user", "content": "这里有什么？"}]}
    if stream:
        asked["stream_options"] = {"include_usage": True}
        with client.chat.completions.stream(**asked) as events:
            found = events.get_final_completion()
    else:
        found = client.chat.completions.create(**asked)
    choice = found.choices[0]
    message = choice.message
    cost = found.usage.prompt_tokens + found.usage.completion_tokens
    return message.content, message.tool_calls or [], choice.finish_reason, cost


def _anthropic(address, model, stream):
    """The same, with another SDK."""
    headers = {"toolwright-tools": _TOOLS}
    client = anthropic.Anthropic(
        base_url=address, api_key="client", max_retries=0, default_headers=headers
    )
    messages = [{"role": "user", "content": "这里有什么？"}]
    asked = {"model": model, "max_tokens": 4096, "messages": messages}
    if stream:
        with client.messages.stream(**asked) as events:
            found = events.get_final_message()
    else:
        found = client.messages.create(**asked)
    text = "".join(block.text for block in found.content if block.type == "text")
    calls = [block for block in found.content if block.type == "tool_use"]
    usage = found.usage
    cost = usage.input_tokens + usage.output_tokens
    cost += (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return text, calls, found.stop_reason, cost


def _judge(cell, address):
    """Sends one request, and checks both sides."""
    model = upstreams.module(cell.upstream).MODEL.format(cell.tag)
    ask = _openai if cell.client == "openai-chat" else _anthropic
    text, calls, stop, cost = ask(address, f"{cell.upstream}/{model}", cell.stream)
    need(cell.tag in text, "answer", f"the last words are not there: {text!r}")
    need(text.startswith("我") == cell.stream, "answer", f"not the words of the turns: {text!r}")
    need(not calls, "answer", "calls of the gateway's tools are shown")
    need(stop in ("stop", "end_turn"), "answer", f"stopped for {stop!r}")
    need(len(cell.requests) == 2, "request", f"{len(cell.requests)} requests")
    need(not cell.complaint, "request", cell.complaint)
    outcomes = upstreams.module(cell.upstream).read("", cell.requests[1]).results
    need(len(outcomes) == 2, "request", f"{len(outcomes)} outcomes")
    there, missing = (outcome[2] for outcome in outcomes)
    need(cell.file in there, "request", f"the file is not found: {there!r}")
    need(cell.missing in missing, "request", f"the failure is not told: {missing!r}")
    need(cost > 0, "answer", "it cost nothing")
    return cost


def run(binary, home, report, numbers):
    """Drives all cells, one after another."""
    vendors = {dialect: Vendor(dialect) for dialect in _CLIENTS}
    root = home / "root"
    root.mkdir(parents=True, exist_ok=True)
    more = f'[tools]\nroot = "{root}"\n'
    with serve.gateway(binary, home, vendors, more=more) as address:
        for upstream in _CLIENTS:
            for stream in (False, True):
                costs = set()
                for client in _CLIENTS:
                    cell = Cell(client, upstream, stream, next(numbers))
                    vendors[upstream].cells[cell.tag] = cell
                    (root / cell.file).write_text(cell.tag, "utf-8")
                    report.run(cell.name, lambda: costs.add(_judge(cell, address)))
                    (root / cell.file).unlink()
                # Both clients receive the sum of the same two turns.
                name = f"tools, {upstream}, usage"
                report.run(name, lambda: need(len(costs) == 1, "usage", f"{costs}"))
