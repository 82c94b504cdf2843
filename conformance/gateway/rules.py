"""Upstreams that are models by rules: they answer by what the messages say."""

import http.server
import json
import threading

from gateway import upstreams


class RuleModel:
    """An upstream in the dialect of OpenAI Chat. A subclass decides what it answers."""

    version = None
    models = ()
    key = "upstream-rules"

    def __init__(self):
        # The tools that requests offered
        self.tools = []
        self.vendor = upstreams.module("openai-chat")
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, word, outcomes, messages):
        """The message of the model, by the last words of the user, the outcomes of calls and all
        messages."""
        raise NotImplementedError


def call(name, **arguments):
    """A message with one call."""
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    one = {"id": "call_1", "type": "function", "function": function}
    return {"content": None, "tool_calls": [one]}


def _answer(model, messages):
    outcomes = [own["content"] for own in messages if own["role"] == "tool"]
    word = [own["content"] for own in messages if own["role"] == "user"][-1]
    if isinstance(word, list):
        word = "".join(part["text"] for part in word)
    return model.answer(word, outcomes, messages)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.server.model.tools.extend(body.get("tools", ()))
        message = {"role": "assistant", **_answer(self.server.model, body["messages"])}
        stop = "tool_calls" if message.get("tool_calls") else "stop"
        reply = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": stop}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(reply).encode("utf-8")
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass
