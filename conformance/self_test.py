"""Tests the checks: documents that the SDKs are known to accept must pass, broken ones must not.

Valid: `fixtures/<dialect>/captured` and `accepted`. Broken: one change each to a valid one, from
`broken.py`.
"""

import json
import re

import broken
import dialects
from strict import Rejected, need

# Without a header the SDK cannot determine the type of a Bedrock error.
_BEDROCK_ERRORS = {400: "ValidationException", 429: "ThrottlingException"}


def prepare(path, calls, edit=lambda text: text):
    """Reads a fixture, edits it, and returns its check, chosen by its folder and name."""
    dialect, folder, name = path.parts[-3:]
    judge = dialects.module(dialect)
    if folder == "captured":
        wire = json.loads(path.read_text("utf-8"))
        body = json.loads(edit(json.dumps(wire["body"])))
        return lambda: judge.request(wire["path"], body)
    encoding = "latin-1" if name.endswith(".bin") else "utf-8"
    data = edit(path.read_bytes().decode(encoding)).encode(encoding)
    if name.endswith(".events.txt"):
        binary = path.with_name(name.removesuffix(".events.txt") + ".bin").read_bytes()
        return lambda: judge.readable(binary, data.decode("utf-8"))
    if "_stream" in name:
        return lambda: calls(judge.stream(data), 0 if "_text" in name else 2)
    body, fault = json.loads(data), re.search(r"_error_(\d+)", name)
    if fault:
        status = int(fault[1])
        headers = {"x-amzn-errortype": _BEDROCK_ERRORS[status]} if dialect == "bedrock" else {}
        return lambda: judge.fault(status, headers, body)
    if dialect == "mcp":
        return lambda: judge.tools(body["tools/list:"]["result"]["tools"])
    return lambda: calls(judge.response(body), 2 if "_tools" in name else 0)


def refused(judge, name, verbose):
    """Passes if the check rejects."""
    try:
        judge()
    except Rejected as error:
        if verbose:
            print(f"{name}\n{error.summary()}")
    else:
        raise Rejected("self-test", "a broken variant was accepted")


def good(fixtures):
    """The fixtures that a check can read: not the SDK's view of them, not MCP's traffic."""
    for path in sorted([*fixtures.glob("*/captured/*.json"), *fixtures.glob("*/accepted/*")]):
        skipped = path.parts[-3] == "mcp" and path.name not in (
            "mcp_modern.json",
            "mcp_legacy.json",
        )
        if (
            not skipped
            and path.parts[-3:-1] != ("mcp", "captured")
            and not path.name.endswith(".parsed.json")
        ):
            yield path


def run(fixtures, report, calls, verbose):
    """Runs all tests and returns whether they passed."""
    for path in good(fixtures):
        name = path.relative_to(fixtures.parent).as_posix()
        judge = prepare(path, calls)
        if "_stream_error" in name or "_stream_failed" in name:
            name += " (a fault in mid-stream is no whole stream)"
            report.run(name, lambda: refused(judge, name, verbose))
        else:
            report.run(name, judge)
    observed = json.loads((fixtures / "negative.json").read_text("utf-8"))
    for name, fixture, edit in (*broken.OBSERVED, *broken.OURS):
        if (name, fixture, edit) in broken.OBSERVED:
            report.run(name, lambda: need(name in observed, "self-test", "not in negative.json"))
        judge = prepare(fixtures / fixture, calls, edit)
        title = f"broken: {fixture}: {name}"
        report.run(title, lambda: refused(judge, title, verbose))
    return report.close("self-test")
