"""Counts passes and prints failures."""

from strict import Rejected


class Report:
    """Counts passes and prints failures."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def run(self, name, judge):
        """Runs a check on one file."""
        try:
            judge()
        except Rejected as error:
            self._fail(name, error)
        except Exception as error:  # an exception of any class is the SDK's verdict
            self._fail(name, Rejected(type(error).__name__, str(error)))
        else:
            self.passed += 1

    def _fail(self, name, error):
        self.failed += 1
        print(f"FAILED {name}\n{error.summary()}")

    def close(self, title=None):
        """Prints the totals and returns whether all passed."""
        name = f"{title}: " if title else ""
        print(f"{name}{self.passed} passed, {self.failed} failed")
        return self.failed == 0
