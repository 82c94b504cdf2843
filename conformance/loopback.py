"""A server on 127.0.0.1 that answers every request with one prepared reply."""

import http.server
import json
import os
import threading

# The SDKs must not use a proxy for the loopback server.
for variable in ("http_proxy", "https_proxy", "all_proxy"):
    os.environ.pop(variable, None)
    os.environ.pop(variable.upper(), None)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = self.server.reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    reply = (200, {}, b"")


_server = _Server(("127.0.0.1", 0), _Handler)
threading.Thread(target=_server.serve_forever, daemon=True).start()

URL = f"http://127.0.0.1:{_server.server_address[1]}"


def answer_json(body, status=200, headers=None):
    """Prepares a JSON reply."""
    headers = {"content-type": "application/json", **(headers or {})}
    _server.reply = (status, headers, json.dumps(body).encode("utf-8"))


def answer_bytes(data, content_type):
    """Prepares a stream."""
    _server.reply = (200, {"content-type": content_type}, data)
