"""Counts the checks and prints them: a table by dialect and kind, then the failures, grouped."""

import collections
import re

from recorded.compare import FACTS

# Digits and quoted words differ between failures of one kind.
_VARIABLE = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")
_SHOWN = 60


class Tally:
    """Counts the checks of a run."""

    def __init__(self):
        self.documents = collections.defaultdict(set)
        self.kept = collections.Counter()
        self.wrong = collections.Counter()
        self.excused = collections.Counter()
        self.reasons = collections.Counter()
        self.failures = collections.defaultdict(list)

    def add(self, file, line, to, checks):
        """Adds the checks of one translation."""
        self.documents[file].add(line)
        for way, check, excuse in checks:
            key = (file, check.fact)
            if not check.problem:
                self.kept[key] += 1
            elif excuse:
                self.excused[key] += 1
                self.reasons[excuse] += 1
            else:
                self.wrong[key] += 1
                arrow = "" if way == "out" else " and back"
                shape = (check.fact, _VARIABLE.sub("_", check.problem.split("\n")[0])[:110])
                self.failures[shape].append((f"{file} to {to}{arrow}", f"{file}.jsonl:{line}", check))

    def cell(self, file, fact):
        """The results for a fact: kept, total, and excused."""
        key = (file, fact)
        if key not in self.kept and key not in self.wrong and key not in self.excused:
            return "-"
        total = self.kept[key] + self.wrong[key]
        text = f"{self.kept[key]}/{total}" if self.wrong[key] else str(total)
        return f"{text}+{self.excused[key]}" if self.excused[key] else text

    def close(self, verbose):
        """Prints everything and returns whether all passed."""
        rows = [("recording", "documents", *FACTS)]
        for file in sorted(self.documents):
            count = str(len(self.documents[file]))
            rows.append((file, count, *(self.cell(file, fact) for fact in FACTS)))
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        for reason, count in self.reasons.most_common():
            print(f"excepted {count:5}  {reason}")
        self._failures(verbose)
        return not self.failures

    def sum(self):
        """Prints how many checks passed and failed."""
        passed = sum(self.kept.values()) + sum(self.excused.values())
        print(f"recorded: {passed} passed, {sum(self.wrong.values())} failed")

    def _failures(self, verbose):
        ordered = sorted(self.failures.items(), key=lambda each: -len(each[1]))
        for (fact, shape), found in ordered if verbose else ordered[:_SHOWN]:
            way, place, check = found[0]
            pairs = collections.Counter(pair for pair, _, _ in found)
            listed = ", ".join(f"{pair} {count}" for pair, count in pairs.most_common(6))
            more = f", and {len(pairs) - 6} more pairs" if len(pairs) > 6 else ""
            print(f"FAILED {fact}: {shape} ({len(found)})\n  {listed}{more}")
            print(f"  first: {place}{check.at and ' ' + check.at}: {check.problem[:400]}")
        if not verbose and len(ordered) > _SHOWN:
            print(f"and {len(ordered) - _SHOWN} more sorts of failure")
