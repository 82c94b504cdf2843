"""Checks translated recordings: `judge_recorded.py DIR TRANSLATED` or `judge_recorded.py --self-test`.

DIR holds the recordings, TRANSLATED the output of the example `translate_recorded`. Prints a table
by dialect and kind, the failures, grouped, and `N passed, M failed`; exits 1 on a failure.
"""

import argparse
import base64
import json
import multiprocessing
import pathlib
import sys
import warnings

from recorded import compare, exceptions, extract, plain, self_test, table
from recorded.compare import Check
from recorded.facts import loads

warnings.filterwarnings("ignore")


def load(directory):
    """The recorded documents by file and line."""
    found = {}
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                found[path.stem, number] = line
    return found


def judge(pair):
    """All checks of one translation: the recorded line and the translated one."""
    recorded, translated = pair
    wire = json.loads(translated)
    kind, source = wire["file"].rpartition(".")[2], wire["file"].rpartition(".")[0]
    checks = []
    ways = [("out", wire)] + ([("back", wire["back"])] if "back" in wire else [])
    for way, outcome in ways:
        target = wire["to"] if way == "out" else source
        exact = loads(translated)
        exact = exact if way == "out" else exact["back"]
        losses = list((wire.get("report") or {}).get("losses") or [])
        if way == "back":
            losses += (outcome.get("report") or {}).get("losses") or []
        try:
            found = list(_checks(kind, source, target, way, loads(recorded), outcome, exact, wire))
        except Exception as error:
            found = [Check("decoded", "", f"an extractor failed: {type(error).__name__}: {error}"[:200])]
        for check in found:
            case = exceptions.Case(kind, source, target, way, check, losses, outcome)
            excuse = check.problem and exceptions.excuse(case)
            checks.append((way, check, excuse))
    strict = None
    if kind == "request" and "strict" in wire and "report" in wire:
        body = json.loads(recorded)["body"]
        strict = (source, wire["strict"], plain.is_plain(source, body), wire["report"])
    return wire["file"], wire["line"], wire["to"], strict, checks


def _checks(kind, source, target, way, recorded, outcome, exact, wire):
    facts = _source(kind, source, recorded)
    if "error" in outcome:
        problem = None if facts is None else outcome["error"][:120]
        yield Check("decoded", "", problem)
        return
    if facts is None and kind != "fault":
        yield Check("decoded", "", "a document that is no reply was taken for one")
        return
    yield Check("decoded", "")
    module = extract.module(target)
    same = way == "out" and source == target
    if kind == "fault":
        yield from _types(kind, target, outcome) if not same else ()
    elif kind == "request":
        body = recorded["body"]
        body = body.get("body", body) if "path" in body else body
        if same:
            yield from _same(body, exact["body"])
        names = {} if way == "back" else wire["report"]["aliases"]["names"]
        found = module.request(outcome["path"], exact["body"])
        yield from compare.requests(facts, found, names)
        if way == "out" and not same:
            yield from _types(kind, target, outcome)
    elif kind == "response":
        if same:
            yield from _same(recorded["body"], exact["body"])
        yield from compare.replies(facts, module.response(exact["body"]), target, {})
        yield from _types(kind, target, outcome) if not same else ()
    else:
        data = outcome["latin1"].encode("latin-1")
        found = module.stream(data)
        if same:
            yield Check("same", "", compare.unlike(facts, found))
        yield from compare.replies(facts, found, target, {})
        if not same and not facts.fault:
            yield from _types("stream", target, {"data": data})


def _same(source, copy):
    gone = list(compare.lost(source, copy))
    yield Check("same", gone[0] if gone else "", f"lost {gone[0]}" if gone else None)


def _source(kind, source, recorded):
    module = extract.module(source)
    if kind == "request":
        body = recorded["body"]
        wrapped = "path" in body and "body" in body
        return module.request(body["path"] if wrapped else "", body["body"] if wrapped else body)
    if kind == "response":
        return module.response(recorded["body"])
    if kind == "fault":
        return None
    text = recorded.get("text")
    return module.stream(base64.b64decode(recorded["base64"]) if text is None else text.encode("utf-8"))


def _types(kind, target, outcome):
    """The verdict of the SDK."""
    import dialects
    from strict import Rejected

    judge = dialects.module(target)
    try:
        if kind == "request":
            judge.request(outcome["path"], outcome["body"])
        elif kind == "response":
            judge.response(outcome["body"])
        elif kind == "fault":
            judge.fault(outcome["status"], outcome["headers"], outcome["body"])
        else:
            judge.stream(outcome["data"])
    except Rejected as error:
        yield Check("types", "", f"{error.type_name}: {error.detail}")
    except Exception as error:  # an exception of any class is the SDK's verdict
        yield Check("types", "", f"{type(error).__name__}: {error}")
    else:
        yield Check("types", "")


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path, nargs="?", help="the recordings")
    parser.add_argument("translated", type=pathlib.Path, nargs="?", help="what came of them")
    parser.add_argument("--verbose", action="store_true", help="list every sort of failure")
    parser.add_argument("--self-test", action="store_true", help="judge the extractors")
    asked = parser.parse_args()
    if asked.self_test:
        from report import Report

        fixtures = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
        return self_test.run(fixtures, Report())
    if not asked.translated:
        parser.error("DIR and TRANSLATED are needed")
    recorded = load(asked.directory)
    pairs = []
    with asked.translated.open(encoding="utf-8") as lines:
        for line in lines:
            head = json.loads(line[: line.index(',"to"')] + "}")
            pairs.append((recorded[head["file"], head["line"]], line))
    tally, measure = table.Tally(), plain.Measure()
    with multiprocessing.get_context("spawn").Pool() as pool:
        for found in pool.imap_unordered(judge, pairs, chunksize=64):
            file, line, to, strict, checks = found
            tally.add(file, line, to, checks)
            if strict:
                source, passed, is_plain, report = strict
                measure.add(source, line, to, passed, is_plain, report)
    passed = tally.close(asked.verbose)
    missed = measure.close() if measure.all else []
    tally.sum()
    return passed and not missed


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
