"""Drives the running gateway with the vendors' own SDKs: `matrix.py [options] ROOT`.

Every client dialect, every upstream dialect, whole and streaming. Prints the cells that failed, the
matrix, then `N passed, N failed`; exits 1 on a failure.
"""

import argparse
import itertools
import pathlib
import sys
import warnings

from gateway import DIALECTS, self_test
from gateway.drivers import Drivers
from gateway.server import Upstream
from report import Report

warnings.filterwarnings("ignore")


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="say why broken cells were refused")
    parser.add_argument("--previous", help="the Python that has the SDK majors before")
    parser.add_argument("--node", nargs=2, metavar=("NODE", "DRIVER"), help="the SDKs of JavaScript")
    parser.add_argument("--self-test", action="store_true", help="judge the judges, without gateway")
    parser.add_argument("root", type=pathlib.Path, help="the repository")
    asked = parser.parse_args()
    drive = str(asked.root / "conformance" / "drive.py")
    commands = {"python": ([sys.executable, drive], {})}
    if asked.previous:
        commands["previous"] = ([asked.previous, drive], {})
    if asked.node:
        commands["js"] = (asked.node, {})
    drivers = Drivers(commands)
    numbers = itertools.count(0x5EED0001)
    upstreams = {
        dialect: Upstream(dialect, KEYS.get(dialect, f"upstream-{dialect}")) for dialect in DIALECTS
    }
    return self_test.run(upstreams, drivers, numbers, Report(), asked.verbose)


# Bedrock's key is a pair, with which requests are signed.
KEYS = {"bedrock": "AKIAUPSTREAM:upstream-bedrock"}

if __name__ == "__main__":
    sys.exit(0 if main() else 1)
