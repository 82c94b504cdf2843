"""The script of the model in a conversation, and the expected content of each request.

A conversation is a list of `Step`s. The model takes one step for each request that offers the tools
of the conversation; other requests (titles, summaries) get a short text and take no step.
"""

import dataclasses
import json

# A PNG, eight by eight red pixels, whose base64 has a character outside the URL-safe alphabet.
IMAGE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000080000000808020000004b6d29dc0000001249444154789c63f8cfc0"
    "801561171db4120028ff3fc16eecdf610000000049454e44ae426082"
)


@dataclasses.dataclass
class Call:
    """A call of one of several tools: the first of `tools` that the request offers.

    `tools` maps a name, or the end of one, to arguments, or to a function that builds them from the
    tool's schema (None for a tool in free form). `result` must be in the call's result. An optional
    call is omitted if no such tool is offered.
    """

    tools: dict
    result: str
    has_image: bool = False
    is_optional: bool = False

    def choose(self, offered):
        """Name and arguments, by the tools that a request offers; None if it offers none."""
        for wanted, given in self.tools.items():
            for name in sorted(offered, key=len):
                if name == wanted or name.endswith(("_" + wanted, "-" + wanted, "." + wanted)):
                    return name, given(offered[name]) if callable(given) else given
        return None


@dataclasses.dataclass
class Step:
    """A reply. `prompt` is the user's text before it, `has_image` whether it has an image.

    A step that is not kept may be absent from the requests of later turns.
    """

    text: str = ""
    calls: list = dataclasses.field(default_factory=list)
    prompt: str | None = None
    has_image: bool = False
    is_kept: bool = True


def travel(cell):
    """Two parallel calls, one of which fails; then a follow-up with an image and another call."""
    weather = {"city": f"北京{cell.word('w')}", "unit": "celsius"}
    flights = {
        "origin": "PEK",
        "destination": f"CDG{cell.word('f')}",
        "passengers": ["王伟", "O'Neil"],
    }
    again = {"city": f"Reykjavík {cell.word('g')}", "unit": "fahrenheit"}
    return [
        Step(
            f"Let me look both up. {cell.word('a')}",
            [
                Call({"get_weather": weather}, cell.nonce("w")),
                Call({"search_flights": flights}, f"no flights to CDG{cell.word('f')}"),
            ],
            prompt=f"How is the weather in 北京, and which flights go to CDG? {cell.nonce('p')}",
        ),
        Step(f"Sunny in 北京; the flights could not be searched. {cell.word('b')}"),
        Step(
            "",
            [Call({"get_weather": again}, cell.nonce("g"))],
            prompt=f"And where this picture was taken? {cell.nonce('q')}",
            has_image=True,
        ),
        Step(f"It is colder there. {cell.word('t')}"),
    ]


def extraction(cell):
    """A forced tool whose first arguments are invalid, then valid ones; a follow-up with an image."""
    wrong = {"city": f"北京{cell.word('w')}", "celsius": "mild"}
    right = {"city": f"北京{cell.word('w')}", "celsius": 21}
    again = {"city": f"Reykjavík {cell.word('t')}", "celsius": -3}
    return [
        Step(
            "",
            [Call({"Weather": wrong}, "celsius")],
            prompt=f"It is 21 degrees in 北京. {cell.nonce('p')}",
            is_kept=False,
        ),
        Step("", [Call({"Weather": right}, "")], is_kept=False),
        Step(
            "",
            [Call({"Weather": again}, "")],
            prompt=f"And where this picture was taken? {cell.nonce('q')}",
            has_image=True,
        ),
    ]


_PATHS = ("file_path", "absolute_path", "filePath", "path")
_COMMANDS = ("command", "cmd")


def _file(path):
    """Arguments of a tool that reads a file, under any name of the path."""
    return lambda schema: {next(key for key in _PATHS if key in schema["properties"]): path}


def _shell(line):
    """Arguments of a tool that runs a command: a line, or a list for a shell."""

    def given(schema):
        properties = schema["properties"]
        key = next(key for key in _COMMANDS if key in properties)
        found = {key: line}
        if properties[key].get("type") in ("array", "ARRAY"):
            found = {key: ["bash", "-lc", line]}
        if "description" in schema.get("required", []):
            found["description"] = "Runs a command"
        return found

    return given


def _shells(line):
    names = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell")
    return {name: _shell(line) for name in names}


def _reads(path):
    return {name: _file(path) for name in ("Read", "read_file", "read")}


def coding(cell):
    """Two parallel calls, one of which fails; an image in a result; a follow-up with another call."""
    missing = f"missing-{cell.nonce('f')}.txt"
    return [
        Step(
            f"I read the notes first. {cell.word('a')}",
            [
                Call(
                    {**_reads(cell.file("notes.txt")), **_shells("cat notes.txt")}, cell.word("w")
                ),
                Call(_shells(f"cat {missing}"), f"{missing}: No such file"),
            ],
            prompt=f"Read notes.txt and look at picture.png. {cell.nonce('p')}",
        ),
        Step(
            "",
            [
                Call(
                    {
                        "view_image": _file(cell.file("picture.png")),
                        **_reads(cell.file("picture.png")),
                    },
                    "",
                    has_image=True,
                )
            ],
        ),
        Step(f"The notes are short, the picture is red. {cell.word('b')}"),
        Step(
            f"Once more. {cell.word('c')}",
            [Call(_shells(f"echo {cell.nonce('g')} 航班"), f"{cell.nonce('g')} 航班")],
            prompt=f"And now? {cell.nonce('q')}",
        ),
        Step(f"All is done. {cell.word('t')}"),
    ]


def codex(cell):
    """The same, with a tool of an MCP server and a patch.

    For known models, Codex offers one tool in free form, whose JavaScript calls the others.
    """
    steps = coding(cell)
    word = f"航班{cell.nonce('m')}"
    patch = f"*** Begin Patch\n*** Add File: {cell.nonce('n')}.txt\n+北京\n*** End Patch\n"
    steps[0].calls.append(Call({"lookup": {"word": word}}, f"found {word}"))
    steps[3].calls.append(
        Call({"apply_patch": {"input": patch}}, f"{cell.nonce('n')}.txt", is_optional=True)
    )
    picture = cell.file("picture.png")
    scripts = [
        [
            _script("exec_command", {"cmd": "cat notes.txt"}),
            _script("exec_command", {"cmd": f"cat missing-{cell.nonce('f')}.txt"}),
            _script("mcp__notes__lookup", {"word": word}),
        ],
        [f"image((await tools.view_image({json.dumps({'path': picture})})).image_url);"],
        [],
        [
            _script("exec_command", {"cmd": f"echo {cell.nonce('g')} 航班"}),
            _script("apply_patch", patch) + _script("exec_command", {"cmd": "ls"}),
        ],
        [],
    ]
    for step, sources in zip(steps, scripts, strict=True):
        for call, source in zip(step.calls, sources, strict=True):
            call.tools["functions__exec"] = {"input": source}
    return steps


def _script(tool, given):
    """JavaScript that calls a tool and prints its result."""
    given = json.dumps(given, ensure_ascii=False)
    return f"text(JSON.stringify(await tools.{tool}({given})));"
