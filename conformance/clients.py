"""Runs agent clients through the gateway against strict fake upstreams: `clients.py [options] ROOT [NAME…]`.

Prints the cells that failed, the table, then `N passed, N failed`; exits 1 on a failure. With
`--environments` it only prints the environments that the clients need.
"""

import argparse
import itertools
import json
import pathlib
import sys

from agents import registry


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", action="store_true", help="print what must be installed")
    parser.add_argument("--binary", help="the toolwright to run")
    parser.add_argument("--installed", type=pathlib.Path, help="the folder of the environments")
    parser.add_argument(
        "--quick", action="store_true", help="the clients and upstreams of `ci --full`"
    )
    parser.add_argument("--only", help="a word that the names of cells must have")
    parser.add_argument("--write", action="store_true", help="write the table into docs/clients.md")
    parser.add_argument("root", type=pathlib.Path, help="the repository")
    parser.add_argument("names", nargs="*", help="clients; all of them if left out")
    return parser.parse_args()


def _run(asked, clients):
    from agents import run, self_test, table
    from agents.model import Cell, Model
    from gateway import serve
    from gateway.self_test import sound
    from report import Report
    from strict import need

    if not self_test.run(Report()):
        return False
    models = {dialect: Model(dialect, f"upstream-{dialect}") for dialect in registry.DIALECTS}
    models["bedrock"].key = "AKIAUPSTREAM:upstream-bedrock"
    home = asked.root.resolve() / "target" / "clients-gateway"
    numbers = itertools.count(0xA6E00001)
    cells = [
        Cell(client, upstream, stream, next(numbers), home / "agents")
        for client in clients
        for upstream in client.upstreams_of(asked.quick)
        for stream in client.modes
    ]
    cells = [cell for cell in cells if not asked.only or asked.only in cell.name]
    for cell in cells:
        cell.secret = "client-own-key"
        model = models[cell.upstream]
        model.cells[cell.tag] = cell
        model.models.append(model.vendor.MODEL.format(cell.tag))
    with serve.gateway(asked.binary, home, models) as root:

        def address(cell):
            key = "AKIACLIENT:client-own-key" if cell.client.dialect == "bedrock" else cell.secret
            model = models[cell.upstream].vendor.MODEL.format(cell.tag)
            return root + cell.client.path, key, f"{cell.upstream}/{model}"

        run.run(cells, asked.installed.resolve(), address)
    report = Report()
    for cell in cells:
        if cell.limit:
            what = "the client passes: remove its entry in `limits`"
            report.run(cell.name, lambda: need(cell.complaints, "limits", what))
            continue
        if cell.refused:
            log = home / f"refused-{cell.tag}.json"
            log.write_text(json.dumps(cell.refused, ensure_ascii=False, indent=1), "utf-8")
            cell.complain("request", f"see {log}")
        report.run(cell.name, lambda: sound(cell))
    for id, model in models.items():
        strays = "\n".join(model.strays)
        report.run(id, lambda: need(not strays, id, f"requests for no cell: {strays}"))
    measured = table.Table(clients, cells)
    print(f"\n{measured.terminal()}\n")
    document = asked.root / "docs" / "clients.md"
    text = document.read_text("utf-8")
    is_all = not (asked.names or asked.quick or asked.only)
    wanted = measured.written(text, is_all)
    if asked.write:
        document.write_text(wanted, "utf-8")
    hint = "not the table that was measured; run: cargo xtask clients --write"
    report.run(str(document), lambda: need(asked.write or text == wanted, "table", hint))
    return report.close()


def main():
    """Runs the command."""
    asked = _arguments()
    clients = registry.chosen(asked.names, asked.quick)
    if asked.environments:
        print("\n".join(dict.fromkeys(client.environment for client in clients)))
        return True
    return _run(asked, clients)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
