"""Runs the shell blocks of the documents as a reader does, and compares what they print with what is shown.

A journey is a document from its beginning, or from a comment `journey: WHO`, in an empty folder beside a clone of the
repository; a document at the root of the repository is read in a clone. Its blocks run in one shell, in order:

- `sh`: one script, which must succeed. Blocks of `text` or `json` that follow at once are its output.
- `console`: commands after `$ `, each followed by its output.
- A block after a comment `file: NAME` is stored there. One after a comment `not run: REASON` is listed, and not run.

The output is a part of what the commands print: `…` is any text, white space does not count, and ids and times differ.
If a later command contains an id of an output, it runs with the printed one. A command whose output has a line
`error: …` must fail. `toolwright serve` runs in the background until its journey ends, and `curl` fails if a request does.
`cargo run --` is the program that the tests have built.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ["conformance-js/node_modules", "conformance-mcp/node_modules"]
PROGRAMS = ["debug", "conformance-venv/bin", "mcp-venv/bin", *(f"{folder}/.bin" for folder in MODULES)]
FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"<!-- (not run|file): (.*?) -->\n*\Z")
JOURNEY = re.compile(r"<!-- journey: (.*?) -->")
COMMAND = re.compile(r"^\$ ((?:.*[\\|]\n)*.*)\n", re.M)
PRELUDE = r"""set -eo pipefail
curl() { command curl --fail-with-body "$@"; }
cargo() { if [ "$1 $2" = 'run --' ]; then shift 2; toolwright "$@"; else command cargo "$@"; fi; }
is_taken() { (: </dev/tcp/127.0.0.1/8000) 2>/dev/null; }
serve() {
    while is_taken; do echo 'port 8000 is taken'; sleep 0.1; done
    "$@" &
    until is_taken; do kill -0 $!; sleep 0.1; done
}
"""
SERVE = re.compile(r"^(?:toolwright|cargo run --) serve(?: [^&\n]*)?$", re.M)
ID = r"(?:(?:plan|apr|conv|req|resp)_|twi?[-.:]|s3://)"
VARIES = re.compile(
    rf"(?P<id>{ID}(?:[\w./-]+…?|…))|(?P<any>…)|(?P<bracket>\s*[][{{}}]\s*)|(?P<space>\s+)"
    r"|(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z?|\d+(?:\.\d+)? ?(?:ms|µs|s)\b)"
)
FORMS = {"any": ".*?", "bracket": r"\s*\{}\s*", "space": r"\s*", "time": r"[\d-]+[\dT:.]*\s*(?:ms|µs|s|Z)?"}
MAX_SECONDS = 60


def journeys(document):
    """Returns the journeys of a document: who, and the blocks with their line, fence, comment and output."""
    text, found, end = (ROOT / document).read_text(), [("a reader", [])], 0
    for fence in FENCE.finditer(text):
        before, end = text[end : fence.start()], fence.end()
        if begin := JOURNEY.search(before):
            found.append((begin[1], []))
        blocks = found[-1][1]
        if blocks and not before.strip() and fence[1] in ("text", "json"):
            blocks[-1][3] += fence[2]
        else:
            blocks.append([text.count("\n", 0, fence.start()) + 1, fence, COMMENT.search(before), ""])
    return found


class Shell:
    """A shell in a folder, and the ids that were printed in it."""

    def __init__(self, folder, variables):
        self.folder, self.ids, self.steps = folder, {}, 0
        pipe = {"stdin": subprocess.PIPE, "text": True}
        self.bash = subprocess.Popen(["bash"], cwd=folder, env=variables, start_new_session=True, **pipe)
        self.bash.stdin.write(PRELUDE)

    def run(self, command, expected):
        """Runs a script, and returns what is wrong with it."""
        for documented, printed in self.ids.items():
            command = command.replace(documented, printed)
        command = SERVE.sub(r"serve \g<0>", command)
        if re.search("^error: ", expected, re.M):
            command = "! {\n" + command + "\n}"
        self.steps += 1
        files = [self.folder.with_suffix(f".{self.steps}.{kind}") for kind in ("sh", "out", "status")]
        for file, text in zip(files, (command + "\n", "", "")):
            file.write_text(text)
        self.bash.stdin.write(". {} >{} 2>&1 </dev/null; echo $? >{}\n".format(*files))
        self.bash.stdin.flush()
        end = time.monotonic() + MAX_SECONDS
        while self.bash.poll() is None and not files[2].read_text() and time.monotonic() < end:
            time.sleep(0.01)
        printed = files[1].read_text()
        if files[2].read_text() != "0\n":
            return f"failed, or took more than {MAX_SECONDS} seconds, and printed\n{printed}"
        return None if self.compare(expected.strip(), printed) else f"printed\n{printed}\nin place of\n{expected}"

    def compare(self, expected, printed):
        """Returns whether the output is a part of what was printed, and stores its ids."""
        ids, pattern, end = [], "", 0
        for token in VARIES.finditer(expected):
            pattern += re.escape(expected[end : token.start()])
            end = token.end()
            if token.lastgroup != "id":
                pattern += FORMS[token.lastgroup].format(token[0].strip())
            elif token[0] in self.ids:
                pattern += re.escape(self.ids[token[0]])
            else:
                ids.append(token[0])
                pattern += f"({re.match(ID, token[0])[0]}[\\w./-]+)"
        found = re.search(pattern + re.escape(expected[end:]), printed, re.S)
        self.ids |= dict(zip(ids, found.groups())) if found else {}
        return found


def travel(document, blocks, folder, variables):
    """Runs a journey. Returns the number of blocks that ran, and those that did not."""
    shell, ran, left_out, compared = Shell(folder, variables), 0, [], False
    try:
        for line, fence, comment, output in blocks:
            if comment and comment[1] == "file":
                (folder / comment[2]).write_text(fence[2])
            elif fence[1] in ("sh", "console") and comment:
                left_out.append(f"{document}:{line}: {comment[2]}")
            elif fence[1] in ("sh", "console"):
                ran += 1
                steps = COMMAND.split(fence[2])[1:] if fence[1] == "console" else [fence[2], output]
                for command, shown in zip(steps[::2], steps[1::2]):
                    compared |= bool(shown)
                    if wrong := shell.run(command, shown):
                        raise SystemExit(f"{document}:{line}: this\n{command}\n{wrong}")
        if ran and not compared:
            raise SystemExit(f"{document}: a journey shows no output to compare")
        return ran, left_out
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.bash.pid, signal.SIGKILL)


def link_all(source, folder):
    """Makes a folder with links to everything in another one."""
    folder.mkdir(exist_ok=True)
    for entry in source.glob("[!.]*"):
        with contextlib.suppress(FileExistsError):
            (folder / entry.name).symlink_to(entry)


def main():
    documents = ["README.md", "README.zh-CN.md", *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md"))]
    total, left_out = 0, []
    with tempfile.TemporaryDirectory() as base:
        base, home, target = pathlib.Path(base), pathlib.Path.home(), ROOT / "target"
        for folder in MODULES:
            link_all(target / folder, base / "node_modules")
        link_all(ROOT, base / "toolwright")
        variables = {"CARGO_HOME": f"{home}/.cargo", "RUSTUP_HOME": f"{home}/.rustup", "NO_COLOR": "1"}
        variables |= {name: value for name, value in os.environ.items() if not re.search("KEY|TOKEN|^AWS_", name)}
        variables["PATH"] = ":".join([*(f"{target}/{folder}" for folder in PROGRAMS), variables["PATH"]])
        variables |= {"HOME": str(base), "CARGO_TARGET_DIR": str(target), "npm_config_offline": "true"}
        for document in sys.argv[1:] or documents:
            for index, (who, blocks) in enumerate(journeys(document)):
                folder, start = base / f"{pathlib.Path(document).stem}-{index}", time.monotonic()
                link_all(ROOT if "/" not in document else base / "none", folder)
                ran, unrun = travel(document, blocks, folder, variables)
                if ran:
                    print(f"{document}, {who}: {ran} blocks in {time.monotonic() - start:.1f} s", flush=True)
                total, left_out = total + ran, left_out + unrun
    print("\n".join([f"{total} blocks ran, {len(left_out)} did not:", *left_out]))


if __name__ == "__main__":
    main()
