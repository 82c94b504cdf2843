"""MCP, tools only, checked with the mcp SDK."""

import mcp_types

from strict import check, need


def tools(tools):
    """Tools as `tools/list` returns them."""
    for tool in tools:
        check(mcp_types.Tool, tool)
        kind = tool["inputSchema"].get("type")
        need(kind == "object", "Tool", f"the root of inputSchema has type {kind!r}")
