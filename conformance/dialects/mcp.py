"""MCP, tools only, judged by the mcp SDK."""

import mcp_types

from strict import check, need


def tools(tools):
    """Tools as `tools/list` gives them."""
    for tool in tools:
        check(mcp_types.Tool, tool)
        kind = tool["inputSchema"].get("type")
        need(kind == "object", "Tool", f"the root of inputSchema has type {kind!r}")
