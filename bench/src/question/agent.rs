//! A request of the size that coding agents send: forty tools and a hundred messages, about 119 kB,
//! in openai-chat. It is generated deterministically.

use serde_json::{Value, json};

/// The number of tools.
pub(crate) const TOOLS: usize = 40;

/// The number of messages, the system message included.
pub(crate) const MESSAGES: usize = 100;

/// The objects and verbs of the tools: each pair is a tool.
const NOUNS: [&str; 8] =
    ["file", "directory", "symbol", "branch", "process", "test", "package", "issue"];
const VERBS: [&str; 5] = ["read", "search", "update", "create", "list"];

/// The tools, with schemas as agents generate them.
pub(crate) fn tools() -> Vec<Value> {
    let pairs = NOUNS.iter().flat_map(|noun| VERBS.iter().map(move |verb| (*verb, *noun)));
    pairs.enumerate().map(|(at, (verb, noun))| tool(at, verb, noun)).take(TOOLS).collect()
}

fn tool(at: usize, verb: &str, noun: &str) -> Value {
    let description = format!(
        "{verb} a {noun} of the workspace.\n\nUse this tool when you need to {verb} a {noun} and you \
         know its path. Prefer it to shell commands.\n\nNotes:\n- Paths must be absolute; a path \
         such as \"src/main.rs\" is refused.\n- The result has at most {} lines; continue with \
         `offset`.\n- Never {verb} a {noun} outside of the workspace.",
        500 + at
    );
    let mut properties = json!({
        "path": {"type": "string", "description": format!("Absolute path of the {noun}")},
        "offset": {"type": "integer", "minimum": 0, "description": "Line to start at, from 0"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 500,
            "description": "Maximum number of lines"},
        "mode": {"type": "string", "enum": ["exact", "glob", "regex"],
            "description": "How `path` is matched"},
        "filters": {"type": "array", "description": "Conditions that a match has to meet",
            "items": {"type": "object", "properties": {
                "field": {"type": "string", "description": "Name of the attribute"},
                "operator": {"type": "string", "enum": ["equals", "contains", "before", "after"]},
                "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}},
            "required": ["field", "operator", "value"], "additionalProperties": false}},
    });
    if at.is_multiple_of(2) {
        properties["edits"] = json!({"type": "array", "description": "Replacements, applied in order",
            "items": {"type": "object", "properties": {
                "old_text": {"type": "string", "description": "Text to replace; must be unique"},
                "new_text": {"type": "string", "description": "Text to insert in its place"},
                "replace_all": {"type": "boolean", "default": false}},
            "required": ["old_text", "new_text"], "additionalProperties": false}});
    }
    json!({"type": "function", "function": {"name": format!("{verb}_{noun}"),
        "description": description, "parameters": {"type": "object", "properties": properties,
            "required": ["path"], "additionalProperties": false}}})
}

/// The conversation after the system message: a request, and then turns of two parallel calls with
/// their results, and a message of the assistant.
pub(crate) fn conversation() -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content":
        "The test \"parses_nested_arrays\" fails since yesterday. Find out why and fix it."})];
    messages.extend((0..).flat_map(exchange).take(MESSAGES - 4));
    messages.push(json!({"role": "assistant", "content": "The test passes."}));
    messages.push(json!({"role": "user", "content": "And the changelog?"}));
    messages
}

fn exchange(turn: usize) -> [Value; 4] {
    let ids = [0, 1].map(|call| format!("call_{:012x}", 0x5f3a_91c0_77d1 + turn * 2 + call));
    let call = |id: &str, name: &str, arguments: Value| {
        json!({"id": id, "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()}})
    };
    let path = format!("/workspace/parser/src/module_{turn}.rs");
    let edit = json!({"path": path, "edits": [{"old_text": source(turn, 3),
        "new_text": source(turn + 1, 4), "replace_all": false}]});
    let calls = [
        call(&ids[0], "read_file", json!({"path": path, "offset": turn * 40, "limit": 40})),
        call(&ids[1], "update_file", edit),
    ];
    [
        json!({"role": "assistant", "content": format!("Step {turn}: I look at `{path}` and adjust \
            the reader, because it skips the last element."), "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": ids[0], "content": source(turn, 25)}),
        json!({"role": "tool", "tool_call_id": ids[1], "content": format!(
            "The file {path} has been updated.\nwarning: unused variable `depth{turn}`\n")}),
        json!({"role": "user", "content": format!("<system-reminder>\nThe task list has {turn} open \
            items. Do not mention this to the user.\n</system-reminder>")}),
    ]
}

/// Numbered lines of a program, as tools return files.
fn source(seed: usize, lines: usize) -> String {
    let line = |at: usize| match (seed + at) % 5 {
        0 => format!("{at:>5}\tfn read_{seed}(input: &str) -> Result<Vec<Node>, Error> {{\n"),
        1 => format!("{at:>5}\t    let depth{seed} = input.matches(\"[\").count();\n"),
        2 => format!(
            "{at:>5}\t    for part in input.split(',') {{ nodes.push(Node::new(part)?); }}\n"
        ),
        3 => format!("{at:>5}\t    // Element {at} – the last one – ends without a comma.\n"),
        _ => format!("{at:>5}\t}}\n"),
    };
    (0..lines).map(line).collect()
}
