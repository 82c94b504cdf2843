"""A server of tools for the plans of the suite, over MCP on stdin and stdout. Each call is a line in a file, so that calls
are counted outside of Toolwright: tools.py LOG TOOL…"""

import json
import sys
import threading
import time

LOG, NAMES = sys.argv[1], sys.argv[2:]
LOCK = threading.Lock()
NUMBER = {"type": "integer"}
TOOLS = {
    # Takes a while, and adds one to the sum of its numbers.
    "add": ({"numbers": {"type": "array"}, "ms": NUMBER}, {"readOnlyHint": True}),
    # The same, but it may not be repeated.
    "pay": ({"numbers": {"type": "array"}, "ms": NUMBER}, {"destructiveHint": True, "idempotentHint": False}),
    # Returns a text of this length.
    "grow": ({"length": NUMBER}, {"readOnlyHint": True}),
    # Returns the length of a text.
    "measure": ({"text": {"type": "string"}}, {"readOnlyHint": True}),
}


def write(document):
    with LOCK:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()


def note(line):
    with LOCK, open(LOG, "a") as log:
        log.write(line + "\n")


def call(name, arguments):
    # An output of another step is a text.
    numbers = [int(number) for number in arguments.get("numbers", [])]
    note(f"{name} started {json.dumps(numbers)}")
    if name in ("add", "pay"):
        time.sleep(arguments.get("ms", 0) / 1000)
        value = 1 + sum(numbers)
    elif name == "grow":
        value = "x" * arguments["length"]
    else:
        value = len(arguments["text"])
    note(f"{name} ended {json.dumps(numbers)}")
    return json.dumps(value) if not isinstance(value, str) else value


def answer(message):
    method, parameters = message["method"], message.get("params", {})
    if method == "initialize":
        result = {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tools", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": [definition(name) for name in NAMES]}
    elif method == "tools/call":
        text = call(parameters["name"], parameters.get("arguments", {}))
        result = {"content": [{"type": "text", "text": text}]}
    elif method == "ping":
        result = {}
    else:
        write({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        return
    write({"jsonrpc": "2.0", "id": message["id"], "result": result})


def definition(name):
    properties, annotations = TOOLS[name]
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": name, "inputSchema": schema, "annotations": annotations}


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received and "method" in received:
        threading.Thread(target=answer, args=(received,), daemon=True).start()
