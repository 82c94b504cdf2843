"""Requests that name MCP servers themselves, with the SDKs of OpenAI and Anthropic: the gateway runs the tools, for an
upstream that knows no MCP. Arguments: the binary, a folder, and the program of mcp-server-time.
"""

import json
import sys
from pathlib import Path

import anthropic
import openai

from gateway import rules, serve

ZONE = "Asia/Shanghai"


class Model(rules.RuleModel):
    """Asks for the time once, then says what the outcomes were."""

    def answer(self, word, outcomes, messages):
        if not outcomes:
            return rules.call("time_get_current_time", timezone=ZONE)
        return {"content": f"{len(outcomes)} outcomes of {len(messages)} messages: {outcomes[-1]}"}


class Judge:
    """Collects what is wrong."""

    def __init__(self):
        self.failures = []

    def need(self, is_right, what, seen):
        if not is_right:
            self.failures.append(f"{what}: {seen}")

    def refused(self, what, error, ask, words):
        try:
            seen = ask()
        except error as raised:
            self.need(words in str(raised), what, raised)
        else:
            self.need(False, what, seen)


def kinds(items):
    return [item.type for item in items]


def responses(address, judge):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="client", max_retries=0)
    clock = {"type": "mcp", "server_label": "clock", "server_url": f"{address}/mcp/time", "require_approval": "never"}
    question = {"model": "up/m", "input": "What time is it?"}

    first = client.responses.create(**question, tools=[clock])
    judge.need(kinds(first.output) == ["mcp_list_tools", "mcp_call", "message"], "items", first.output)
    judge.need(len(first.output[0].tools) == 2 and ZONE in first.output[1].output, "call", first.output)
    with client.responses.stream(**question, tools=[clock]) as stream:
        streamed = stream.get_final_response()
    judge.need(kinds(streamed.output) == kinds(first.output), "streamed items", streamed.output)
    later = client.responses.create(model="up/m", input="And?", tools=[clock], previous_response_id=first.id)
    judge.need("1 outcomes of 5 messages" in later.output_text, "later turn", later.output)
    forced = {"type": "mcp", "server_label": "clock", "name": "time_get_current_time"}
    chosen = client.responses.create(**question, tools=[clock], tool_choice=forced)
    judge.need("mcp_call" in kinds(chosen.output), "choice", chosen.output)

    # By the name in the configuration, with the names of the server, and with approval.
    own = {"type": "mcp", "server_label": "time", "allowed_tools": ["get_current_time"]}
    for approve in (True, False):
        asked = client.responses.create(**question, tools=[own])
        judge.need(kinds(asked.output) == ["mcp_list_tools", "mcp_approval_request"], "approval", asked.output)
        id = asked.output[-1].id
        answer = {"type": "mcp_approval_response", "approval_request_id": id, "approve": approve}
        answered = client.responses.create(
            model="up/m", input=[answer], tools=[own], previous_response_id=asked.id
        )
        call = answered.output[0]
        judge.need(call.type == "mcp_call" and call.approval_request_id == id, "approved call", answered.output)
        judge.need((ZONE in (call.output or "")) == approve, "answer of the user", answered.output)
        unknown = {**answer, "approval_request_id": "apr_" + 32 * "0"}
        ask = lambda: client.responses.create(model="up/m", input=[unknown], tools=[own])
        judge.refused("unknown approval", openai.BadRequestError, ask, "no approval")

    elsewhere = {**clock, "server_url": "https://mcp.example.com/mcp"}
    strict = {"toolwright-strict": "true"}
    ask = lambda: client.responses.create(**question, tools=[elsewhere], extra_headers=strict)
    judge.refused("another server", openai.BadRequestError, ask, "mcp")
    ask = lambda: client.responses.create(**question, tools=[{**own, "authorization": "secret"}])
    judge.refused("credentials", openai.BadRequestError, ask, "credentials of its own")


def messages(address, judge):
    client = anthropic.Anthropic(base_url=address, api_key="client", max_retries=0)
    server = {"type": "url", "url": f"{address}/mcp/time", "name": "clock"}
    user = {"role": "user", "content": "What time is it?"}
    sets = {"tools": [{"type": "mcp_toolset", "mcp_server_name": "clock"}], "betas": ["mcp-client-2025-11-20"]}
    for versions in (sets, {"betas": ["mcp-client-2025-04-04"]}):
        options = {"model": "up/m", "max_tokens": 99, "mcp_servers": [server], **versions}
        whole = client.beta.messages.create(messages=[user], **options)
        judge.need(kinds(whole.content) == ["mcp_tool_use", "mcp_tool_result", "text"], "blocks", whole.content)
        with client.beta.messages.stream(messages=[user], **options) as stream:
            streamed = stream.get_final_message()
        judge.need(kinds(streamed.content) == kinds(whole.content), "streamed blocks", streamed.content)
        judge.need(ZONE in streamed.content[1].content[0].text, "result", streamed.content)
        turn = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in whole.content]}
        later = client.beta.messages.create(messages=[user, turn, user], **options)
        judge.need("1 outcomes of 5 messages" in later.content[0].text, "later turn", later.content)
    none = {"tools": [{"type": "mcp_toolset", "mcp_server_name": "clock", "default_config": {"enabled": False}}]}
    ask = lambda: client.beta.messages.create(messages=[user], **{**options, **none})
    judge.refused("no tools", anthropic.BadRequestError, ask, "have no tools")


def main():
    binary, home, program = sys.argv[1:]
    judge = Judge()
    table = f"[mcp.time]\ncommand = [{json.dumps(program)}]\n"
    with serve.gateway(binary, Path(home), {"up": Model()}, more=table) as address:
        responses(address, judge)
        messages(address, judge)
    print(json.dumps(judge.failures))


main()
