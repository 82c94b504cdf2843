"""Directs generated requests to what the gateway has: the offline model, and functions of its catalog.

Generated names would nearly always end at "not found". Half of the requests keep them.
"""

import zlib

import schemathesis

_MODEL = "offline/rules"
_FUNCTIONS = {
    "file-processing-prefab": "parse_file",
    "builtin-files": "list_files",
    "builtin-tables": "read_csv",
}
_USER = [{"role": "user", "content": "hi"}]
# What a body needs at least, by the end of its path.
_BODIES = {
    "/chat/completions": {"model": _MODEL, "messages": _USER},
    "/v1/responses": {"model": _MODEL, "input": "hi"},
    "/v1/messages": {"model": _MODEL, "messages": _USER, "max_tokens": 9},
    "/v1/messages/count_tokens": {"model": _MODEL, "messages": _USER},
    "/converse": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "/converse-stream": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    ":generateContent": {"contents": [{"parts": [{"text": "hi"}]}]},
    ":streamGenerateContent": {"contents": [{"parts": [{"text": "hi"}]}]},
    ":countTokens": {"contents": [{"parts": [{"text": "hi"}]}]},
    "/api/chat": {"model": _MODEL, "messages": _USER},
    "/api/show": {"model": _MODEL},
    "/v2/chat": {"model": _MODEL, "messages": _USER},
}


def _choose(value, choices):
    """A choice that depends on what was generated alone, so that a request can be repeated."""
    return choices[zlib.crc32(repr(value).encode("utf-8", "replace")) % len(choices)]


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not path_parameters or _choose(path_parameters, [True, False]):
        return path_parameters
    known = {"model": _MODEL}
    if "/prefabs/" in context.operation.path:
        known["id"], known["function"] = _choose(path_parameters, list(_FUNCTIONS.items()))
    return {name: known.get(name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict) or _choose(body, [True, False]):
        return body
    path = context.operation.path
    for end, needed in _BODIES.items():
        if path.endswith(end):
            return {**body, **needed}
    if path.endswith("/execute"):
        return {**body, "function": _choose(body, list(_FUNCTIONS.values()))}
    if path.endswith("/run") and isinstance(body.get("calls"), list):
        return {**body, "calls": [_directed(call) for call in body["calls"]]}
    return body


def _directed(call):
    if not isinstance(call, dict):
        return call
    prefab, function = _choose(call, list(_FUNCTIONS.items()))
    return {**call, "prefab_id": prefab, "version": None, "function_name": function}
