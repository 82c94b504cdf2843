"""A conversation over several requests with unmodified SDKs: a handle, a call that waits for
approval, and restarts of the gateway in between.

The upstream is a model by rules. It reads a table, passes its handle to another tool in the next
request, writes a file, which needs approval, and answers with what it saw. The clients append each
reply to their history, or name the previous one. Where neither has an id, they send the header of
the conversation.
"""

import json
import re
import shutil
import subprocess
import urllib.request

import anthropic
import openai

from gateway import rules, serve
from strict import need

_HEADER = "toolwright-conversation"
_TOOLS = "read_csv, drop_missing, write_file"
_HANDLE = re.compile(r"tw:[0-9a-f]{32}")
_APPROVAL = re.compile(r"apr_[0-9a-f]{32}")
_TABLE = "name,age\n张三,34\n李四,\n"


class Model(rules.RuleModel):
    """An upstream that decides by the last message of the user and the outcomes after it."""

    def answer(self, word, outcomes, messages):
        if word == "write":
            if not outcomes:
                return rules.call("write_file", path="out.txt", content="written")
            return {"content": f"outcome: {outcomes[-1]}"}
        if word == "go on":
            return {"content": f"outcome: {outcomes[-1]}"}
        if outcomes:
            return {"content": outcomes[-1]}
        if word == "read":
            return rules.call("read_csv", path="people.csv")
        return rules.call("drop_missing", table=_HANDLE.search(json.dumps(messages))[0])


class _OpenAI:
    """Chat completions: the history is the client's."""

    name = "openai-chat"

    def __init__(self):
        self.messages = []

    def ask(self, address, words, headers):
        """Sends a message of the user. Returns the reply and the headers of it."""
        self.messages.append({"role": "user", "content": words})
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
        raw = client.chat.completions.with_raw_response.create(
            model="up/m", messages=self.messages, extra_headers=headers
        )
        text = raw.parse().choices[0].message.content
        self.messages.append({"role": "assistant", "content": text})
        return text, raw.headers


class _Responses:
    """The Responses API: the history is the gateway's."""

    name = "openai-responses"

    def __init__(self):
        self.previous = {}

    def ask(self, address, words, headers):
        """The same."""
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
        raw = client.responses.with_raw_response.create(
            model="up/m", input=words, extra_headers=headers, **self.previous
        )
        found = raw.parse()
        self.previous = {"previous_response_id": found.id}
        return found.output_text, raw.headers


class _Anthropic:
    """Messages: the history is the client's."""

    name = "anthropic"

    def __init__(self):
        self.messages = []

    def ask(self, address, words, headers):
        """The same."""
        self.messages.append({"role": "user", "content": words})
        client = anthropic.Anthropic(base_url=address, api_key="client", max_retries=0)
        raw = client.messages.with_raw_response.create(
            model="up/m", max_tokens=999, messages=self.messages, extra_headers=headers
        )
        found = raw.parse()
        self.messages.append({"role": "assistant", "content": found.content})
        return "".join(block.text for block in found.content), raw.headers


def _approvals(binary, home, *words):
    command = [binary, "approvals", *words, "--json", "--data", str(home / "data")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _post(address, id):
    data = json.dumps({"answer": "approve"}).encode("utf-8")
    request = urllib.request.Request(f"{address}/v1/approvals/{id}", data=data, method="POST")
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["status"]


def _judge(client, binary, home, model, root):
    """One conversation."""
    out = root / "out.txt"
    out.unlink(missing_ok=True)
    tools = {"toolwright-tools": _TOOLS}

    def gateway():
        more = f'[tools]\nroot = "{root}"\n'
        return serve.gateway(binary, home, {"up": model}, more=more)

    with gateway() as address:
        text, headers = client.ask(address, "read", tools)
        need(_HANDLE.search(text), "handle", f"none in {text!r}")
        conversation = headers[_HEADER]
    with gateway() as address:
        # A history of texts has no ids. The Responses API needs no header.
        named = {} if client.name == "openai-responses" else {_HEADER: conversation}
        text, headers = client.ask(address, "drop", {**tools, **named})
        need("1 row" in text, "handle", f"the value is lost: {text!r}")
        need(headers[_HEADER] == conversation, "conversation", "it is another one")
        text, headers = client.ask(address, "write", tools)
        found = _APPROVAL.search(text)
        need(found and headers["toolwright-approval"] == found[0], "approval", f"none in {text!r}")
        need(not out.exists(), "approval", "the call did not wait")
        listed = [json.loads(line)["id"] for line in _approvals(binary, home).splitlines()]
        need(listed == [found[0]], "approval", f"{listed} wait")
        if client.name == "anthropic":
            _approvals(binary, home, "approve", found[0])
        else:
            need(_post(address, found[0]) == "approved", "approval", "the answer is not taken")
    with gateway() as address:
        # The history, or the chain, names the approval: no header is needed.
        text, headers = client.ask(address, "go on", tools)
        need("out.txt" in text, "approval", f"not the outcome of the call: {text!r}")
        need(out.read_text("utf-8") == "written", "approval", "the call did not run")
        need(not _approvals(binary, home), "approval", "it still waits")


def run(binary, home, report):
    """Drives each client, one after another."""
    shutil.rmtree(home, ignore_errors=True)
    root = home / "root"
    root.mkdir(parents=True)
    (root / "people.csv").write_text(_TABLE, "utf-8")
    for client in (_OpenAI(), _Responses(), _Anthropic()):
        name = f"conversation, {client.name}"
        report.run(name, lambda: _judge(client, binary, home, Model(), root))
