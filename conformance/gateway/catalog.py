"""The journey of an agent through the catalog, with unmodified SDKs: recommend, list the functions,
read the definition, call the function, which runs as a Python process and parses an uploaded PDF.

The upstream is a model by rules: each of its calls uses what the outcome before it says.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import anthropic
import gateway_sdk
import openai

from gateway import rules, serve
from strict import need

_NEED = "我需要一个能处理 PDF 文件，提取其中文本内容的工具"
_TOOLS = "prefab_recommend, list_prefab_functions, get_function_details, call_prefab_function"
_PREFAB = "file-processing-prefab"
_LINK = re.compile(r"s3://[^\s\"]+")
_TEXT = "Toolwright reads this page"


class Model(rules.RuleModel):
    """An upstream that follows the journey by the outcomes of its own calls."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def answer(self, word, outcomes, messages):
        outcomes = [json.loads(outcome) for outcome in outcomes]
        for outcome in outcomes:
            self.outcomes[outcome["tool_name"]] = outcome
        if not outcomes:
            return rules.call("prefab_recommend", query=_NEED)
        last = outcomes[-1]
        if not last["success"]:
            return {"content": f"failed: {last['error']}"}
        result = last["result"]
        if last["tool_name"] == "prefab_recommend":
            prefab = result["recommended_prefabs"][0]["id"]
            return rules.call("list_prefab_functions", prefab_id=prefab)
        if last["tool_name"] == "list_prefab_functions":
            names = {"prefab_id": result["prefab_id"]}
            name = result["functions"][0]["name"]
            return rules.call("get_function_details", function_name=name, **names)
        if last["tool_name"] == "get_function_details":
            return rules.call(
                "call_prefab_function",
                prefab_id=result["prefab_id"],
                version=result["version"],
                function_name=result["function"]["name"],
                parameters={},
                files={"input": [_LINK.search(word)[0]]},
            )
        return {"content": f"content: {result['function_result']['content']}"}


def _openai(address, words):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
    reply = client.chat.completions.create(
        model="up/m",
        messages=[{"role": "user", "content": words}],
        extra_headers={"toolwright-tools": _TOOLS},
    )
    return reply.choices[0].message.content


def _anthropic(address, words):
    client = anthropic.Anthropic(base_url=address, api_key="client", max_retries=0)
    reply = client.messages.create(
        model="up/m",
        max_tokens=999,
        messages=[{"role": "user", "content": words}],
        extra_headers={"toolwright-tools": _TOOLS},
    )
    return "".join(block.text for block in reply.content)


def _pdf(text):
    """A PDF document with one line of text, written by hand."""
    stream = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return out + b"startxref\n%d\n%%%%EOF\n" % start


def _judge(ask, address, model, link, definition):
    """One journey."""
    text = ask(address, f"{_NEED} {link}")
    need(text == f"content: {_TEXT}", "answer", repr(text))
    outcomes = model.outcomes
    listed = {
        "success": True,
        "result": {
            "prefab_id": _PREFAB,
            "version": "0.1.5",
            "functions": [{key: definition[key] for key in ("name", "description")}],
            "total_functions": 1,
        },
        "tool_name": "list_prefab_functions",
    }
    need(outcomes["list_prefab_functions"] == listed, "functions", repr(outcomes))
    details = {
        "success": True,
        "result": {"prefab_id": _PREFAB, "version": "0.1.5", "function": definition},
        "tool_name": "get_function_details",
    }
    need(outcomes["get_function_details"] == details, "details", repr(outcomes))
    called = outcomes["call_prefab_function"]["result"]
    need(called["function_result"] == {"success": True, "content": _TEXT}, "call", repr(called))
    need(_LINK.fullmatch(called["output_files"]["output"][0]), "files", repr(called))


def run(binary, root, home, report):
    """Publishes the prefab, uploads the document and drives each client."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    # The function runs in this Python, which has its libraries.
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    prefab = root / "fixtures" / "catalog" / _PREFAB
    command = [binary, "catalog", "add", str(prefab), "--data", str(home / "data")]
    subprocess.run(command, check=True, capture_output=True)
    served = (root / "fixtures" / "catalog" / "served" / "parse_file.json").read_text("utf-8")
    (home / "page.pdf").write_bytes(_pdf(_TEXT))
    for name, ask in (("openai", _openai), ("anthropic", _anthropic)):
        model = Model()
        with serve.gateway(binary, home, {"up": model}) as address:
            link = gateway_sdk.GatewayClient(base_url=address).upload_input_file(
                str(home / "page.pdf"), content_type="application/pdf"
            )
            report.run(
                f"catalog, {name}",
                lambda: _judge(ask, address, model, link, json.loads(served)),
            )
