"""Checks that a request contains the whole history: every text, call, argument, result and image."""

import json

from agents.scenario import IMAGE
from strict import need

# Vendors that take text only.
WITHOUT_IMAGES = ("deepseek",)
# Placeholders for a signature that no client could have stored.
_SKIPPED = "skip_thought_signature_validator"


def check(cell, items):
    """Rejects a request in which part of the earlier turns is missing or out of order."""
    at, begun = 0, _begun(cell)
    for number, (reply, step) in enumerate(zip([*cell.replies, None], cell.steps)):
        if step.prompt:
            at = _prompt(cell, items, step, at)
        if reply is None:
            break
        if not step.is_kept and (number < begun or cell.client.retries_in_text):
            continue
        if reply.text and (cell.client.keeps_text or not reply.calls):
            at = _find(items, at, "assistant", reply.text, "an earlier answer")
        for (id, name, given), call in zip(reply.calls, step.calls):
            where = _call(cell, items, id, name, given)
            _result(cell, items, where, call)
            at = max(at, where)
    _opaque(cell, items)


def _begun(cell):
    """The first step of the current turn."""
    taken = cell.steps[: len(cell.replies) + 1]
    return max(number for number, step in enumerate(taken) if step.prompt)


def _find(items, at, kind, text, what):
    """The position of a text, at `at` or later. A vendor's blocks may split it."""
    for index in range(at, len(items)):
        joined = ""
        for item in items[index:]:
            if item.kind != kind:
                break
            joined += item.text
        if text in joined:
            return index
    need(False, "history", f"{what} is missing: {text!r}")


def _prompt(cell, items, step, at):
    at = _find(items, at, "user", step.prompt, "the user's text")
    if step.has_image and cell.upstream not in WITHOUT_IMAGES:
        found = any(IMAGE in item.media for item in items if item.kind == "user")
        need(found, "history", f"the image of {step.prompt!r} is missing")
    return at


def _call(cell, items, id, name, given):
    """The position of a call; arguments may have more fields, because clients add defaults."""
    calls = [(index, item) for index, item in enumerate(items) if item.kind == "call"]
    same = [
        (index, item)
        for index, item in calls
        if item.name == name and given.items() <= item.arguments.items()
    ]
    if cell.client.keeps_ids and any(item.id is not None for _, item in calls):
        own = [(index, item) for index, item in calls if item.id == id]
        need(own, "history", f"no call has the id {id!r}, only {[item.id for _, item in calls]}")
        short = json.dumps([own[0][1].name, own[0][1].arguments], ensure_ascii=False)[:300]
        need(own[0] in same, "history", f"the call {name} has become {short}")
        return own[0][0]
    need(same, "history", f"the call {name} is missing, or its arguments have changed")
    return same[0][0]


def _result(cell, items, where, call):
    """The result of the call at `where`: by id, or by order where there are no ids."""
    id = items[where].id
    calls = [index for index, item in enumerate(items) if item.kind == "call"]
    results = [item for item in items if item.kind == "result"]
    own = [item for item in results if item.id == id] if id is not None else []
    own = own or results[calls.index(where) :][:1]
    need(own, "history", f"the call {items[where].name} has no result")
    found = _plain(own[0].text)
    need(call.result in found, "history", f"{call.result!r} is not in the result {found[:300]!r}")
    if call.has_image and cell.upstream not in WITHOUT_IMAGES:
        media = own[0].media + [
            image for item in items if item.kind == "user" for image in item.media
        ]
        need(media, "history", f"the image in the result of {items[where].name} is missing")


def _plain(text):
    """Text in which a character may be written as JSON's escape."""
    try:
        return text + json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _opaque(cell, items):
    """Checks that opaque reasoning of this turn was sent back, and no other vendor's."""
    came = [item.text for item in items if item.kind == "opaque"]
    if cell.upstream == "deepseek":
        # The vendor reads the text, and some clients send each streamed fragment back as a paragraph.
        came = ["".join(text.split()) for text in came]
    kept = [] if cell.client.retries_in_text else cell.replies[_begun(cell) :]
    for reply in kept:
        if reply.calls and cell.has_opaque(reply):
            # An Ollama client sends nothing that identifies a call.
            fine = reply.opaque in came or (cell.client.dialect == "ollama" and _SKIPPED in came)
            need(fine, "reasoning", f"{reply.opaque!r} did not come back")
    own = {reply.opaque for reply in cell.replies} | {_SKIPPED, ""}
    if cell.upstream != "deepseek":
        foreign = [each for each in came if each not in own]
        need(not foreign, "reasoning", f"not the vendor's own: {foreign}")
