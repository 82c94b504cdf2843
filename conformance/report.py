"""Counting what passed and telling what failed."""

from strict import Rejected


class Report:
    """Counts what passed and prints what failed."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def run(self, name, judge):
        """Runs a judge over one file."""
        try:
            judge()
        except Rejected as error:
            self._fail(name, error)
        except Exception as error:  # what an SDK raises is its verdict, whatever its class
            self._fail(name, Rejected(type(error).__name__, str(error)))
        else:
            self.passed += 1

    def _fail(self, name, error):
        self.failed += 1
        print(f"FAILED {name}\n{error.summary()}")

    def close(self, title=None):
        """Prints the sum and says whether all passed."""
        name = f"{title}: " if title else ""
        print(f"{name}{self.passed} passed, {self.failed} failed")
        return self.failed == 0
