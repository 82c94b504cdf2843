"""Drives the running gateway with the vendors' own SDKs: `matrix.py [options] ROOT`.

Every client dialect, every upstream dialect, whole and streaming. First the checks are tested, each
SDK with its own vendor; then the gateway is put between them. Prints the cells that failed, the
matrix, then `N passed, N failed`; exits 1 on a failure.
"""

import argparse
import itertools
import pathlib
import sys
import warnings

from gateway import DIALECTS, catalog, conversation, prefabs, rows, self_test, serve, table, tools
from gateway.cell import Cell
from gateway.drivers import Drivers
from gateway.server import Upstream
from report import Report
from strict import need

warnings.filterwarnings("ignore")

# Bedrock's key is a pair, which signs requests.
_SIGNING = "AKIAUPSTREAM:upstream-bedrock"
_CLIENT_KEY, _CLIENT_SIGNING = "client-own-key", "AKIACLIENT:client-own-key"


def _upstreams():
    """A vendor for each dialect, and variants of vendors, for the clients in `_ALSO`."""
    found = {dialect: Upstream(dialect, f"upstream-{dialect}") for dialect in DIALECTS}
    found["bedrock"].key = _SIGNING
    found["bedrock-bearer"] = Upstream("bedrock", "upstream-bedrock-bearer")
    for version in ("2023-06-01", "2026-10-21"):
        found[f"anthropic-{version}"] = Upstream("anthropic", f"upstream-{version}", version)
    return found


_ALSO = {
    "bedrock-bearer": ("openai-chat", "bedrock"),
    "anthropic-2023-06-01": ("openai-chat", "anthropic"),
    "anthropic-2026-10-21": ("openai-chat", "anthropic"),
}


def _cells(upstreams, drivers, numbers):
    """All cells: the matrix, and the variants."""
    pairs = list(itertools.product(rows.ALL, DIALECTS))
    for upstream, clients in _ALSO.items():
        pairs += [(row, upstream) for row in rows.CURRENT if row.dialect in clients]
    cells = [
        Cell(row, upstream, stream, next(numbers))
        for (row, upstream), stream in itertools.product(pairs, (False, True))
        if drivers.has(row.driver)
    ]
    for cell in cells:
        cell.secret = _CLIENT_KEY
        upstreams[cell.upstream].cells[cell.tag] = cell
    return cells


def _measure(asked, upstreams, drivers, cells, certificate):
    """Runs the cells through a gateway, those with a bearer key through one with TLS."""
    home = asked.root.resolve() / "target" / "conformance-gateway"
    with (
        serve.gateway(asked.binary, home / "plain", upstreams) as plain,
        serve.gateway(asked.binary, home / "tls", upstreams, certificate) as tls,
    ):

        def address(cell):
            root = tls if cell.row.driver == "bearer" else plain
            key = _CLIENT_SIGNING if cell.row.dialect == "bedrock" else _CLIENT_KEY
            model = upstreams[cell.upstream].vendor.MODEL.format(cell.tag)
            return cell.row.base(root), key, f"{cell.upstream}/{model}"

        drivers.run(cells, address)


def _readme(asked, report, measured):
    """Writes the matrix into the READMEs, or fails if they have another one."""
    for name, corner in table.READMES.items():
        path = asked.root / name
        text = path.read_text("utf-8")
        wanted = table.replaced(text, measured.markdown(corner))
        if asked.write:
            path.write_text(wanted, "utf-8")
        hint = "not the matrix that was measured; run: cargo xtask conformance --write"
        report.run(name, lambda: need(table.has_marks(text), name, "no marks for the matrix"))
        report.run(name, lambda: need(asked.write or text == wanted, name, hint))


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="say why broken cells were refused")
    parser.add_argument(
        "--binary", help="the toolwright to drive; without it, judge the judges only"
    )
    parser.add_argument("--previous", help="the Python that has the SDK majors before")
    parser.add_argument(
        "--node", nargs=2, metavar=("NODE", "DRIVER"), help="the SDKs of JavaScript"
    )
    parser.add_argument("--only", help="a word that the names of cells must have; no READMEs then")
    parser.add_argument("--write", action="store_true", help="write the matrix into the READMEs")
    parser.add_argument("root", type=pathlib.Path, help="the repository")
    asked = parser.parse_args()
    certificate = serve.certify(asked.root.resolve() / "target" / "conformance-gateway")
    drive = str(asked.root / "conformance" / "drive.py")
    bearer = {"AWS_BEARER_TOKEN_BEDROCK": _CLIENT_KEY, "AWS_CA_BUNDLE": str(certificate[0])}
    commands = {
        "python": ([sys.executable, drive], {}),
        "bearer": ([sys.executable, drive], bearer),
    }
    if asked.previous:
        commands["previous"] = ([asked.previous, drive], {})
    if asked.node:
        commands["js"] = (asked.node, {})
    drivers = Drivers(commands)
    numbers = itertools.count(0x5EED0001)
    upstreams = _upstreams()
    if not asked.only and not self_test.run(upstreams, drivers, numbers, Report(), asked.verbose):
        return False
    if not asked.binary:
        return True
    cells = _cells(upstreams, drivers, numbers)
    if asked.only:
        cells = [cell for cell in cells if asked.only in cell.name]
    _measure(asked, upstreams, drivers, cells, certificate)
    report = Report()
    for cell in cells:
        report.run(cell.name, lambda: self_test.sound(cell))
    for id, upstream in upstreams.items():
        strays = "\n".join(upstream.strays)
        report.run(id, lambda: need(not strays, id, f"requests for no cell: {strays}"))
    if not asked.only or "tools" in asked.only:
        home = asked.root.resolve() / "target" / "conformance-gateway" / "tools"
        tools.run(asked.binary, home, report, numbers)
    if not asked.only or "conversation" in asked.only:
        home = asked.root.resolve() / "target" / "conformance-gateway" / "conversation"
        conversation.run(asked.binary, home, report)
    if not asked.only or "prefabs" in asked.only:
        home = asked.root.resolve() / "target" / "conformance-gateway" / "prefabs"
        prefabs.run(asked.binary, asked.root.resolve(), home, report)
    if not asked.only or "catalog" in asked.only:
        home = asked.root.resolve() / "target" / "conformance-gateway" / "catalog"
        catalog.run(asked.binary, asked.root.resolve(), home, report)
    measured = table.Table(cells)
    print(f"\n{measured.terminal()}\n")
    if not asked.only:
        _readme(asked, report, measured)
    return report.close()


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
