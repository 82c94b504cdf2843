"""Decodes HTTP requests with the parsers of Python's standard library, and answers with what it found.

usage: python3 echo.py COMMAND…

Starts a server, and runs a command beside it with its address as TOOLWRIGHT_ECHO. The answer to a request is JSON:
method, decoded path, query, headers, cookies, and the body as `json`, `form`, `parts` or `text`.
"""

import base64
import email.parser
import email.policy
import json
import os
import subprocess
import sys
import threading
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit


def decode_pairs(text):
    """The pairs of a query or a form, in order; a broken one is an error."""
    return parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict") if text else []


def decode_parts(content_type, body):
    """The parts of a multipart body."""
    head = f"MIME-Version: 1.0\r\nContent-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    if message.defects or not message.is_multipart():
        raise ValueError(f"not a multipart body: {message.defects}")
    return [
        {
            "name": part.get_param("name", header="content-disposition"),
            "filename": part.get_filename(),
            "type": part.get_content_type(),
            "content": base64.b64encode(part.get_payload(decode=True)).decode(),
        }
        for part in message.iter_parts()
    ]


def decode_body(content_type, body):
    """The content of a body, by its media type."""
    essence = content_type.split(";")[0].strip().lower()
    if essence == "application/json" or essence.endswith("+json"):
        return {"json": json.loads(body)}
    if essence == "application/x-www-form-urlencoded":
        return {"form": decode_pairs(body.decode("ascii"))}
    if essence.startswith("multipart/"):
        return {"parts": decode_parts(content_type, body)}
    return {"text": body.decode("utf-8")}


class Echo(BaseHTTPRequestHandler):
    """Answers every request with its decoded parts, or with 400 if they cannot be decoded."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            url = urlsplit(self.path)
            cookies = SimpleCookie(self.headers.get("cookie", ""))
            found = {
                "method": self.command,
                "path": [unquote(segment, errors="strict") for segment in url.path.split("/")],
                "query": decode_pairs(url.query),
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "cookies": {name: unquote(own.value) for name, own in cookies.items()},
                "body": decode_body(self.headers["content-type"], body) if body else None,
            }
            status, reply = 200, json.dumps(found)
        except (ValueError, KeyError, TypeError) as error:
            status, reply = 400, json.dumps({"error": repr(error), "body": body.decode(errors="replace")})
        reply = reply.encode() if self.command != "HEAD" else b""
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        """Logs nothing."""


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    done = subprocess.run(sys.argv[1:], env=os.environ | {"TOOLWRIGHT_ECHO": address}, check=False)
    sys.exit(done.returncode)


main()
