"""The scripted model behind a fake upstream, and a cell of the table."""

import base64
import hashlib
import json
import threading

from agents import history, vendors
from agents.vendors import Reply
from gateway import expect
from gateway.cell import Cell as SdkCell
from gateway.server import _TAG, Refusal, Upstream
from strict import Rejected, need

_ASIDE = "A conversation about travel"


class Cell(SdkCell):
    """One client and one upstream, whole or streaming. `replies` are the replies so far."""

    def __init__(self, client, upstream, stream, number, folder):
        super().__init__(client, upstream, stream, number)
        self.client = client
        self.dialect = upstream
        # The working directory of a coding agent.
        self.folder = folder
        self.steps = client.scenario(self)
        self.replies = []
        # The first request that was refused, for the log.
        self.refused = None
        self.lock = threading.Lock()

    @property
    def name(self):
        """Client, upstream, mode."""
        return f"{self.client.title} → {self.upstream}, {'stream' if self.stream else 'whole'}"

    @property
    def limit(self):
        """Why the client fails independently of the gateway, or None."""
        return self.client.limits.get((self.upstream, self.stream))

    def file(self, name):
        """The path of a file that a coding agent works on."""
        return str(self.folder / self.tag / "work" / name)

    def answers(self):
        """The expected text of the client at the end of each turn."""
        last = [
            step
            for step, after in zip(self.steps, [*self.steps[1:], None])
            if after is None or after.prompt
        ]
        return [step.text or next(iter(step.calls[-1].tools.values()))["city"] for step in last]

    def is_main(self, body):
        """Whether a request belongs to the conversation: it offers the tools of the first step."""
        offered = vendors.module(self.dialect).offered(body)
        return all(call.choose(offered) for call in self.steps[0].calls)

    def has_opaque(self, reply):
        """Whether a reply contained reasoning that must be sent back."""
        return reply.thinks or self.dialect == "gemini"


class Model(Upstream):
    """A vendor that checks each request, then replies with the next step of the conversation."""

    def __init__(self, dialect, key):
        super().__init__(dialect, key)
        self.codec = vendors.module(dialect)

    def answer(self, path, headers, data):
        body = json.loads(data)
        found = _TAG.search(f"{path} {body.get('model', '')}")
        cell = self.cells.get(found and found[0])
        if cell is None:
            self.strays.append(f"{path} for the model {body.get('model')!r}")
            return None
        with cell.lock:
            try:
                reply = self._judge(cell, path, headers, body)
            except (Rejected, LookupError, TypeError, ValueError, AttributeError) as error:
                what = str(error) if isinstance(error, Rejected) else f"cannot be read: {error!r}"
                cell.complain("request", f"request {len(cell.replies) + 1}: {what}")
                cell.refused = cell.refused or body
                raise Refusal(self.codec.error(what[:2000])) from None
        if self.codec.is_stream(path, body):
            data, kind = self.codec.stream(reply), self.vendor.CONTENT_TYPE
        else:
            data, kind = self.codec.whole(reply), "application/json"
        return cell, kind, data if isinstance(data, bytes) else data.encode("utf-8")

    def _judge(self, cell, path, headers, body):
        """Rejects requests that the vendor rejects, and requests with an incomplete history."""
        self.judge.request(path, body)
        stream = self.codec.is_stream(path, body)
        where = _Place(cell, stream)
        expect.request(self, where, path, headers, body)
        self.codec.rules(body, cell)
        items = self.codec.items(body)
        if not cell.is_main(body):
            return self._reply(cell, body, _ASIDE, [], len(cell.replies))
        need(stream == cell.stream, "stream", f"{stream}, not {cell.stream}")
        number = len(cell.replies)
        need(number < len(cell.steps), "conversation", "a request after the last answer")
        history.check(cell, items)
        step = cell.steps[number]
        offered = self.codec.offered(body)
        found = [(call, call.choose(offered)) for call in step.calls]
        step.calls = [call for call, tool in found if tool or not call.is_optional]
        chosen = [tool for call, tool in found if tool or not call.is_optional]
        need(all(chosen), "tools", f"no tool for step {number + 1} in {sorted(offered)}")
        reply = self._reply(cell, body, step.text, chosen, number)
        reply.free = {name for name, schema in offered.items() if schema is None}
        cell.replies.append(reply)
        return reply

    def _reply(self, cell, body, text, chosen, number):
        switch = (body.get("thinking") or {}).get("type")
        thinks = {
            "anthropic": switch not in (None, "disabled"),
            "deepseek": switch != "disabled",
            "openai-responses": "reasoning.encrypted_content" in (body.get("include") or []),
        }.get(cell.dialect, False)
        calls = [
            (_id(cell, name, number, index), name, given)
            for index, (name, given) in enumerate(chosen)
        ]
        opaque = base64.b64encode(f"opaque {cell.tag} {number}".encode()).decode()
        model = self.vendor.MODEL.format(cell.tag)
        return Reply(cell.dialect, cell.tag, model, text, calls, opaque, number, thinks)


class _Place:
    """The input of `expect.request`, for a request that differs from the cell's others."""

    def __init__(self, cell, stream):
        self.tag = cell.tag
        self.stream = stream
        self.secret = cell.secret


def _id(cell, name, number, index):
    """A call id in the vendor's format."""
    word = f"{cell.tag}{number}{index}"
    if cell.dialect == "mistral":
        return hashlib.sha256(word.encode()).hexdigest()[:9]
    prefixes = {"anthropic": "toolu_01", "bedrock": "tooluse_", "gemini": "fc-"}
    return prefixes.get(cell.dialect, "call_") + word
