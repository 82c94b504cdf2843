"""Coding agents with a command line: one headless run for each turn, in its own folder and home."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from agents.run import judge, quiet
from agents.scenario import IMAGE

_HOME = pathlib.Path(__file__).parent
# Seconds for one turn, on a slow machine.
_LIMIT = 180


class Workspace:
    """The files that an agent works on, its home directory, and the address of the gateway."""

    def __init__(self, cell, home, bin, base, key, model):
        self.cell = cell
        self.base = base
        self.key = key
        self.model = model
        self.bin = bin
        self.folder = home / cell.tag
        self.work = self.folder / "work"
        self.home = self.folder / "home"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.home.mkdir()
        (self.work / "notes.txt").write_text(f"{cell.word('w')} 北京\n", "utf-8")
        (self.work / "picture.png").write_bytes(IMAGE)

    def run(self, arguments, variables, number):
        """Runs the agent once and returns its output."""
        log = self.folder / f"turn-{number}.log"
        env = {
            **quiet(),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            **variables,
        }
        command = [str(self.bin / arguments[0]), *arguments[1:]]
        process = subprocess.Popen(
            command,
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            err += f"\nno answer after {_LIMIT} s"
        log.write_text(f"{command}\n{out}\n--- stderr\n{err}", "utf-8")
        if process.returncode != 0:
            tail = (err.strip() or out.strip())[-500:]
            raise RuntimeError(f"exit code {process.returncode}: {tail}; see {log}")
        return out


def run(cell, home, bin, address):
    """Runs both turns of a cell."""
    space = Workspace(cell, home, bin, *address)
    seen = {"texts": []}
    agent = AGENTS[cell.client.name](space)
    try:
        for number, prompt in enumerate(step.prompt for step in cell.steps if step.prompt):
            seen["texts"].append(agent(number, prompt))
    # An exception of any class is the agent's verdict.
    except Exception as error:
        seen["error"] = f"{type(error).__name__}: {error}"
    judge(cell, seen)


def _claude_code(space):
    variables = {
        "ANTHROPIC_BASE_URL": space.base,
        "ANTHROPIC_API_KEY": space.key,
        "ANTHROPIC_MODEL": space.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": space.model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": space.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": space.model,
        "CLAUDE_CONFIG_DIR": str(space.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }

    def turn(number, prompt):
        words = [
            "claude",
            "-p",
            prompt,
            "--output-format",
            "json",
            "--dangerously-skip-permissions",
        ]
        out = space.run(words + (["--continue"] if number else []), variables, number)
        return json.loads(out)["result"]

    return turn


def _codex(space):
    home = space.home / ".codex"
    home.mkdir()
    server = _HOME / "mcp_server.py"
    (home / "config.toml").write_text(
        f"""model = "{space.model}"
model_provider = "toolwright"
check_for_update_on_startup = false

[model_providers.toolwright]
name = "Toolwright"
base_url = "{space.base}"
env_key = "TOOLWRIGHT_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.notes]
command = "{sys.executable}"
args = ["{server}"]

[analytics]
enabled = false
""",
        "utf-8",
    )
    variables = {"CODEX_HOME": str(home), "TOOLWRIGHT_KEY": space.key}
    last = space.folder / "last.txt"

    def turn(number, prompt):
        words = ["codex", "exec", *(["resume", "--last"] if number else [])]
        words += ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        space.run([*words, "--output-last-message", str(last), prompt], variables, number)
        return last.read_text("utf-8")

    return turn


def _gemini_cli(space):
    home = space.home / ".gemini"
    home.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
    (home / "settings.json").write_text(json.dumps(settings), "utf-8")
    variables = {
        "GOOGLE_GEMINI_BASE_URL": space.base,
        "GEMINI_API_KEY": space.key,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }

    def turn(number, prompt):
        words = [
            "gemini",
            "--model",
            space.model,
            "--approval-mode",
            "yolo",
            "--output-format",
            "json",
        ]
        words += ["--resume", "latest"] if number else []
        out = space.run([*words, "--prompt", prompt], variables, number)
        return json.loads(out[out.index("{") :])["response"]

    return turn


def _opencode(space):
    config = space.home / ".config" / "opencode"
    config.mkdir(parents=True)
    model = {
        "name": "test",
        "attachment": True,
        "tool_call": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 200000, "output": 32000},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Toolwright",
        "options": {"baseURL": space.base, "apiKey": space.key},
        "models": {space.model: model},
    }
    settings = {
        "provider": {"toolwright": provider},
        "model": f"toolwright/{space.model}",
        "small_model": f"toolwright/{space.model}",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
    }
    (config / "opencode.json").write_text(json.dumps(settings), "utf-8")
    variables = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def turn(number, prompt):
        words = ["opencode", "run", "--format", "json", *(["--continue"] if number else [])]
        out = space.run([*words, prompt], variables, number)
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        texts = [event["part"]["text"] for event in events if event["type"] == "text"]
        return "\n".join(texts)

    return turn


AGENTS = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
}
