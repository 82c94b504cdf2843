"""An MCP server over stdio with one tool, `lookup`, which returns its argument."""

import json
import sys

_TOOL = {
    "name": "lookup",
    "description": "Look a word up in the notes. 在笔记中查找一个词。",
    "inputSchema": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}


def _answer(method, given):
    if method == "initialize":
        return {
            "protocolVersion": given["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [_TOOL]}
    if method == "tools/call":
        text = f"found {given['arguments']['word']}"
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = _answer(request["method"], request.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
