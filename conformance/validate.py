"""Validates the golden files with the vendors' own SDKs: `validate.py [--self-test] ROOT`.

Prints one block for each file that an SDK rejects, then `N passed, N failed`; exits 1 on a failure.
"""

import argparse
import json
import pathlib
import sys
import warnings

import dialects
import self_test
from report import Report
from strict import need

# An unknown enum value is an error here, not a warning.
warnings.filterwarnings("ignore")


def calls(found, count):
    """Rejects unless the SDK found `count` calls whose arguments are objects."""
    need(len(found) == count, "calls", f"the SDK found {len(found)} calls, not {count}")
    for name, arguments in found:
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                need(False, "calls", f"arguments of {name}: {error}")
        need(name and isinstance(arguments, dict), "calls", f"arguments of {name!r} are no object")


def _request(judge, path):
    body = json.loads(path.read_text("utf-8"))
    judge.request(body["path"], body["body"])


def _response(judge, path):
    calls(judge.response(json.loads(path.read_text("utf-8"))), 2)


def _tools(judge, path):
    tools = json.loads(path.read_text("utf-8"))
    need(isinstance(tools, list) and tools, "tools", "not a list of tools")
    judge.tools(tools)


def _fault(judge, path):
    reply = json.loads(path.read_text("utf-8"))
    judge.fault(reply["status"], reply.get("headers", {}), reply["body"])


def _stream(judge, path):
    if path.name.endswith(".events.txt"):
        binary = path.with_name(path.name.removesuffix(".events.txt") + ".bin")
        judge.readable(binary.read_bytes(), path.read_text("utf-8"))
    else:
        calls(judge.stream(path.read_bytes()), 2)


KINDS = {
    "request": _request,
    "response": _response,
    "stream": _stream,
    "fault": _fault,
    "tools": _tools,
}


def golden(root):
    """Validates `golden/<kind>/<from>/<to>.<extension>`, each file as its `<to>`."""
    report = Report()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root.parent).as_posix()
        kind, target = path.relative_to(root).parts[0], path.name.partition(".")[0]
        if path.suffix == ".md":
            continue
        if kind not in KINDS or target not in dialects.IDS:
            report.run(
                name, lambda: need(False, "layout", "not golden/<kind>/<from>/<to>.<extension>")
            )
            continue
        report.run(name, lambda: KINDS[kind](dialects.module(target), path))
    return report.close("golden")


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="judge the judges, with fixtures/")
    parser.add_argument(
        "--verbose", action="store_true", help="say why broken variants were refused"
    )
    parser.add_argument("root", type=pathlib.Path, help="the repository")
    asked = parser.parse_args()
    if asked.self_test:
        return self_test.run(asked.root / "fixtures", Report(), calls, asked.verbose)
    if not (asked.root / "golden").is_dir():
        print("golden: no golden/ directory, nothing to validate")
        return True
    return golden(asked.root / "golden")


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
