"""Lists the tools of the six servers and calls one of each through a chat endpoint, with the SDKs of OpenAI and Anthropic.

The upstream is a model by rules: it makes the call that the user asks for, and then says what the outcome was. Arguments:
the binary, a folder, the tables of the servers, and the samples as JSON.
"""

import json
import sys
from pathlib import Path

import anthropic
import openai

from gateway import rules, serve


class Model(rules.RuleModel):
    """Makes the call that the user asks for."""

    def answer(self, word, outcomes, messages):
        if outcomes:
            return {"content": outcomes[-1]}
        wanted = json.loads(word)
        return rules.call(wanted["name"], **wanted["arguments"])


def chat(address, word, tools):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
    messages = [{"role": "user", "content": word}]
    headers = {"toolwright-tools": tools}
    reply = client.chat.completions.create(model="up/m", messages=messages, extra_headers=headers)
    return reply.choices[0].message.content


def responses(address, word, tools):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
    with client.responses.stream(model="up/m", input=word, extra_headers={"toolwright-tools": tools}) as stream:
        return stream.get_final_response().output_text


def messages(address, word, tools):
    client = anthropic.Anthropic(base_url=address, api_key="client", max_retries=0)
    own = [{"role": "user", "content": word}]
    headers = {"toolwright-tools": tools}
    with client.messages.stream(model="up/m", max_tokens=999, messages=own, extra_headers=headers) as stream:
        return stream.get_final_text()


def main():
    binary, home, tables, samples = sys.argv[1:]
    samples, failures = json.loads(samples), []
    model = Model()
    with serve.gateway(binary, Path(home), {"up": model}, more=Path(tables).read_text()) as address:
        for ask in (chat, responses, messages):
            for sample in samples:
                word = json.dumps({"name": sample["name"], "arguments": sample["arguments"]})
                # All tools, and those of the server.
                for tools in ("*", f"mcp:{sample['server']}"):
                    text = ask(address, word, tools)
                    if sample["expected"] not in text.replace("\\", ""):
                        failures.append(f"{ask.__name__}, {sample['name']}: {text}")
        offered = {tool["function"]["name"] for tool in model.tools}
        for sample in samples:
            own = [name for name in offered if name.startswith(f"{sample['server']}_")]
            if len(own) < sample["count"]:
                failures.append(f"the model was offered {len(own)} tools of {sample['server']}")
    print(json.dumps(failures))


main()
