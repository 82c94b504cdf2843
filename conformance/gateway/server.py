"""The fake upstreams: one server for each vendor, which checks requests and replays recordings."""

import contextlib
import http.server
import json
import random
import re
import socket
import sys
import threading

import dialects
from gateway import expect, replay, upstreams
from strict import Rejected

_TAG = re.compile(r"c[0-9a-f]{8}")


class Refusal(Exception):
    """A request that an upstream answers with status 400 and this body."""

    def __init__(self, body):
        super().__init__("refused")
        self.body = body


class Upstream:
    """A vendor on its own port. `cells` maps tags to cells; `strays` are requests that match none.

    `version` is the only version of its API that it accepts, if there are several.
    """

    def __init__(self, dialect, key, version=None):
        self.vendor = upstreams.module(dialect)
        self.judge = dialects.module(dialect)
        self.key = key
        self.version = version
        # Models that the gateway lists.
        self.models = []
        self.cells = {}
        self.strays = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path, headers, data):
        """The cell that a request belongs to, and its reply's content type and bytes."""
        body = json.loads(data)
        found = _TAG.search(f"{path} {body.get('model', '')}")
        cell = self.cells.get(found and found[0])
        if cell is None:
            self.strays.append(f"{path} for the model {body.get('model')!r}")
            return None
        path, headers, body = cell.spoil.request(cell, path, headers, body)
        try:
            seen = self.vendor.read(path, body)
        except (Rejected, LookupError, TypeError, ValueError, AttributeError) as error:
            cell.complain("request", f"cannot be read: {type(error).__name__}: {error}")
            seen = None
        turn = 2 if seen and seen.results else 1
        cell.asked(turn)
        for judge in (
            lambda: self.judge.request(path, body),
            lambda: expect.request(self, cell, path, headers, body),
            lambda: seen and expect.said(self.vendor, cell, seen, turn),
        ):
            with _complaints_of(cell, turn):
                judge()
        recorded = cell.spoil.recording(cell, turn)
        if cell.stream:
            return cell, self.vendor.CONTENT_TYPE, replay.stream(self.vendor, *recorded)
        return cell, "application/json", replay.whole(self.vendor, *recorded)


@contextlib.contextmanager
def _complaints_of(cell, turn):
    try:
        yield
    except Rejected as error:
        cell.complain("request", f"turn {turn}: {error}")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Ignores clients that disconnect; other errors are reported at the end."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError):
            self.upstream.strays.append(f"{type(error).__name__}: {error}")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_POST(self):
        data = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers |= {":path": self.path, ":body": data}
        try:
            found = self.server.upstream.answer(self.path, headers, data)
        except Refusal as refusal:
            return self._refuse(refusal)
        if found is None:
            return self.send_error(404)
        cell, content_type, reply = found
        self.send_response(200)
        self.send_header("content-type", content_type)
        if content_type != "application/json":
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self._trickle(cell, reply)
        else:
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(cell.spoil.cut(reply))
        if cell.spoil.cuts:
            self.close_connection = True

    def _refuse(self, refusal):
        data = json.dumps(refusal.body).encode("utf-8")
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self):
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _trickle(self, cell, reply):
        """Small writes of odd lengths, which split lines, frames and characters."""
        lengths = random.Random(cell.tag)
        reply = cell.spoil.cut(reply)
        while reply:
            piece, reply = reply[: (length := lengths.randint(1, 300))], reply[length:]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if not cell.spoil.cuts:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass
