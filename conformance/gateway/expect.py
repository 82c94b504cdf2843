"""The expectations of a cell: for the requests that reach the upstream, and for the SDK's results."""

import json
import re

from gateway import replay
from gateway.cell import TASK
from strict import need

# The Python SDK discards call ids, so its clients cannot send them back.
_WITHOUT_IDS = ("ollama",)
_SKIPPED_SIGNATURE = "skip_thought_signature_validator"
# Finish reasons of a turn with calls and of one without.
FINISH = {
    "openai-chat": ("tool_calls", "stop"),
    "openai-responses": ("completed", "completed"),
    "anthropic": ("tool_use", "end_turn"),
    "bedrock": ("tool_use", "end_turn"),
    "deepseek": ("tool_calls", "stop"),
    "gemini": ("STOP", "STOP"),
    "ollama": ("stop", "stop"),
    "mistral": ("tool_calls", "stop"),
    "cohere": ("TOOL_CALL", "COMPLETE"),
}


def request(upstream, cell, path, headers, body):
    """Address and credential of a request."""
    vendor = upstream.vendor
    model = vendor.MODEL.format(cell.tag)
    wanted = vendor.paths(model, cell.stream)
    need(path in wanted, "path", f"{path!r}, not {wanted[0]!r}")
    need(body.get("model", model) == model, "model", f"{body.get('model')!r}, not {model!r}")
    wrong = vendor.credential(headers, upstream.key)
    need(wrong is None, "credential", wrong)
    version = headers.get("anthropic-version")
    need(upstream.version in (None, version), "version", f"{version!r}, not {upstream.version!r}")
    kind = headers.get("content-type", "")
    need(kind.split(";")[0] == "application/json", "content-type", f"{kind!r}")
    if cell.secret:
        shown = [
            name for name, value in headers.items() if name != ":body" and cell.secret in value
        ]
        need(not shown, "credential", f"the client's own key is in {shown}")


def said(vendor, cell, seen, turn):
    """Checks a request: the tools, the question, and in the second turn calls and results."""
    need(seen.stream == cell.stream, "stream", f"{seen.stream}, not {cell.stream}")
    need(TASK["system"] in seen.system, "system", f"{seen.system!r}")
    need(TASK["prompt"] in seen.prompt, "prompt", f"{seen.prompt!r}")
    _tools(seen.tools)
    if turn == 2:
        _history(vendor, cell, seen)
    else:
        need(not seen.calls, "calls", "the first turn has a history")


def _tools(found):
    for tool in TASK["tools"]:
        name, wanted = tool["name"], tool["parameters"]
        need(name in found, "tools", f"no {name}, only {sorted(found)}")
        description, schema = found[name]
        need(description == tool["description"], name, f"description {description!r}")
        need(
            set(schema.get("properties", {})) == set(wanted["properties"]), name, "other properties"
        )
        need(set(schema.get("required", [])) == set(wanted["required"]), name, "another `required`")
        for key, rule in wanted["properties"].items():
            kind = schema["properties"][key].get("type")
            if isinstance(rule.get("type"), str) and kind is not None:
                need(kind.lower() == rule["type"], name, f"{key} is {kind!r}, not {rule['type']!r}")
    need(len(found) == len(TASK["tools"]), "tools", f"others, too: {sorted(found)}")
    passengers = found["search_flights"][1]["properties"]["passengers"]["items"]
    if "$ref" in passengers:
        passengers = found["search_flights"][1]["$defs"][passengers["$ref"].rpartition("/")[2]]
    need(set(passengers["properties"]) == {"name", "age"}, "search_flights", "another Passenger")


def _history(vendor, cell, seen):
    """Checks that both calls are unchanged, each with its own result."""
    wanted = cell.calls()
    made = [(name, arguments) for _, name, arguments in seen.calls]
    need(made == wanted, "calls", f"{_short(made)} in the history, not {_short(wanted)}")
    need(len(seen.results) == 2, "results", f"{len(seen.results)}, not two")
    ids = [id for id, _, _ in seen.calls]
    need(ids[0] is None or ids[0] != ids[1], "calls", f"both have the id {ids[0]!r}")
    if cell.row.dialect == "mistral" != cell.upstream:
        # Its clients receive ids of its own form in place of the vendor's.
        fine = all(re.fullmatch(r"[A-Za-z0-9]{9}", id or "") for id in ids)
        need(fine or ids == [None, None], "calls", f"ids {ids} are not of Mistral's form")
    elif cell.row.dialect not in _WITHOUT_IDS and ids[0] is not None:
        issued = replay.ids(vendor, cell)
        need(ids == issued, "calls", f"ids {ids}, not those of the first turn, {issued}")
    for (id, name, _), (to, named, text), letter in zip(seen.calls, seen.results, "wf"):
        need(to == id or (to is None and named), "results", f"to {to!r}, not to {id!r}")
        need(named in (None, name), "results", f"of {named!r}, not of {name!r}")
        need(
            cell.word(letter) in _unescaped(text), "results", f"of {name} lacks its nonce: {text!r}"
        )
    _opaque(vendor, cell, seen)


def _opaque(vendor, cell, seen):
    """Checks that opaque reasoning was sent back, and no other vendor's."""
    if not vendor.OPAQUE:
        return
    if cell.row.dialect in _WITHOUT_IDS and seen.opaque in ([], [_SKIPPED_SIGNATURE]):
        return
    mine = vendor.opaque(cell.tag)
    for word in mine:
        back = any(word in found for found in seen.opaque)
        need(back, "reasoning", f"{word!r} did not come back, only {seen.opaque}")
    foreign = [found for found in seen.opaque if not any(word in found for word in mine)]
    need(not foreign, "reasoning", f"not the vendor's own: {foreign}")


def _unescaped(text):
    """Text in which a character may be written as JSON's escape."""
    try:
        return text + json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _short(value):
    return json.dumps(value, ensure_ascii=False)[:400]


def client(cell, seen):
    """Checks the results of an SDK: `seen` is a line of a driver. Failures are recorded in the cell."""

    def told(condition, what):
        if not condition:
            cell.complain("reply", what)

    for number, turn in enumerate(("first", "second"), 1):
        found = seen.get(turn)
        if found is None:
            told(False, f"turn {number}: {seen.get('error', 'nothing came')}")
            break
        finish = FINISH[cell.row.dialect][number - 1]
        told(
            found["finish"] == finish, f"turn {number}: finish {found['finish']!r}, not {finish!r}"
        )
        usage = found["usage"]
        counted = usage and all(isinstance(count, (int, float)) and count > 0 for count in usage)
        told(counted, f"turn {number}: usage {usage}")
        if number == 1:
            made = [(call["name"], call["arguments"]) for call in found["calls"]]
            told(made == cell.calls(), f"turn 1: calls {_short(made)}, not {_short(cell.calls())}")
            ids = [call["id"] for call in found["calls"]]
            without = cell.row.keeps_no_ids
            told(without or (all(ids) and len(set(ids)) == 2), f"turn 1: ids {ids} are not two")
        else:
            told(not found["calls"], f"turn 2: calls {_short(found['calls'])}")
            told(cell.word("t") in found["text"], f"turn 2: no nonce in {found['text']!r}")
    told(cell.turns == [1, 2], f"the upstream was asked for the turns {cell.turns}, not [1, 2]")
