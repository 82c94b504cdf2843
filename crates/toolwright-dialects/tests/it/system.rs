//! System and developer messages by position, target and model; the conversation stays valid for
//! every target.

use toolwright_core::loss::Severity;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Report, Translator};

/// A conversation of `openai-chat`, one letter for each message: `s`ystem, `d`eveloper, `u`ser,
/// `a`ssistant, `c`all, `t`ool result.
fn conversation(letters: &str) -> Json {
    let call = object! {"id": "call_1", "type": "function", "function": object! {"name": "f", "arguments": "{}"}};
    let said = |role: &str, text: &str| object! {"role": role, "content": text};
    let message = |letter| match letter {
        's' => said("system", "rule"),
        'd' => said("developer", "rule"),
        'u' => said("user", "hi"),
        'a' => said("assistant", "ok"),
        'c' => object! {"role": "assistant", "tool_calls": vec![call.clone()]},
        _ => object! {"role": "tool", "tool_call_id": "call_1", "content": "1"},
    };
    let messages: Vec<_> = letters.chars().map(message).collect();
    let tool = object! {"type": "function", "function": object! {"name": "f", "parameters": object! {"type": "object", "properties": object! {}}}};
    object! {"model": "m", "messages": messages, "tools": vec![tool]}.into()
}

fn translate(from: &str, to: &str, model: &str, body: Json) -> (Json, Report) {
    let options = Options { model: Some(model.to_owned()), changed: true, ..Options::default() };
    let wire = WireRequest { body, ..WireRequest::default() };
    let translator = Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options);
    let out = translator.request(wire).unwrap();
    (out.value.body, out.report)
}

/// The request that a vendor receives, in the letters of [`conversation`]: `S` for instructions
/// outside the messages, `+` for text after results in one message, `!` after a message with a
/// marked text.
fn letters(body: &Json) -> String {
    let mut out = String::new();
    if body.get("system").or(body.get("systemInstruction")).or(body.get("instructions")).is_some() {
        out.push('S');
    }
    let list = body.get("messages").or(body.get("contents")).and_then(Json::as_array).unwrap();
    for message in list {
        let text = message.to_string();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let results = has(&["tool_result", "toolResult", "functionResponse"]);
        let letter = match message.get("role").and_then(Json::as_str).unwrap() {
            "system" => 's',
            "developer" => 'd',
            "tool" => 't',
            "user" if results => 't',
            "user" => 'u',
            _ if has(&["tool_calls", "tool_use", "toolUse", "functionCall"]) => 'c',
            _ => 'a',
        };
        out.push(letter);
        if letter == 't' && has(&["<system-reminder>", "\"hi\""]) {
            out.push('+');
        }
        if has(&["<system-reminder>"]) {
            out.push('!');
        }
    }
    out
}

/// The targets of the columns of [`CELLS`].
const TARGETS: [(&str, &str); 11] = [
    ("openai-chat", "gpt-4.1"),
    ("anthropic", "claude-opus-4-8"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-8@20260528"),
    ("bedrock", "us.anthropic.claude-opus-4-8-v1:0"),
    ("gemini", "gemini-3-pro"),
    ("mistral", "mistral-large-latest"),
    ("ollama", "qwen3"),
    ("vllm", "any"),
    ("groq", "llama-3.3-70b-versatile"),
    ("groq", "openai/gpt-oss-120b"),
];

/// One position per row, and the request of each target.
const CELLS: [(&str, [&str; 11]); 12] = [
    ("su", ["su", "Su", "Su", "Su", "Su", "Su", "su", "su", "su", "su", "su"]),
    ("sdsu", ["sdsu", "Su", "Su", "Su", "Su", "Su", "su", "su", "su", "su", "sssu"]),
    ("us", ["us", "us", "u!", "u!", "u!", "u!", "u!", "u!", "u!", "u!", "us"]),
    ("usd", ["usd", "us", "u!", "u!", "u!", "u!", "u!", "u!", "u!", "u!", "uss"]),
    (
        "usau",
        ["usau", "usau", "u!au", "u!au", "u!au", "u!au", "usau", "u!au", "u!au", "u!au", "usau"],
    ),
    ("usu", ["usu", "u!u", "u!u", "u!u", "u!", "u!", "usu", "u!u", "u!u", "u!u", "usu"]),
    (
        "uasu",
        ["uasu", "uau!", "uau!", "uau!", "uau!", "uau!", "uau!", "uau!", "uau!", "uau!", "uasu"],
    ),
    (
        "ucst",
        [
            "ucts", "ucts", "uct+!", "uct+!", "uct+!", "uct+!", "uctu!", "uctu!", "uctu!", "uctu!",
            "ucts",
        ],
    ),
    (
        "ucts",
        [
            "ucts", "ucts", "uct+!", "uct+!", "uct+!", "uct+!", "uctu!", "uctu!", "uctu!", "uctu!",
            "ucts",
        ],
    ),
    (
        "uctsau",
        [
            "uctsau", "uctsau", "uct+!au", "uct+!au", "uct+!au", "uct+!au", "uctu!au", "uctu!au",
            "uctu!au", "uctu!au", "uctsau",
        ],
    ),
    ("s", ["s", "Su", "Su", "Su", "Su", "Su", "su", "s", "s", "s", "s"]),
    ("sau", ["sau", "Suau", "Suau", "Suau", "Suau", "Suau", "suau", "sau", "sau", "sau", "sau"]),
];

#[test]
fn system_messages_are_placed_where_model_and_position_allow() {
    let mut wrong = Vec::new();
    for (row, cells) in CELLS {
        for ((to, model), expected) in TARGETS.into_iter().zip(cells) {
            let (body, report) = translate("openai-chat", to, model, conversation(row));
            let got = letters(&body);
            if got != expected {
                wrong.push(format!("{row} → {to} {model}: {got}, expected {expected}"));
            }
            // Only the role is lost, and that is reported.
            let rules = row.matches(['s', 'd']).count();
            assert_eq!(body.to_string().matches("rule").count(), rules, "{row} → {to}: {body}");
            let minor = |report: &Report| report.count_of(Severity::Minor) > 0;
            assert_eq!(minor(&report), got.contains('!'), "{row} → {to}: {:?}", report.losses);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a vendor would reject in a conversation.
fn complaint(to: &str, model: &str, letters: &str) -> Option<&'static str> {
    let turns = letters.replace(['!', '+', 'S'], "");
    let late = turns.trim_start_matches(['s', 'd']);
    let pairs: Vec<(char, char)> = turns.chars().zip(turns.chars().skip(1)).collect();
    let all_calls_answered = pairs.iter().all(|(one, next)| *one != 'c' || *next == 't');
    let last = turns.chars().last();
    let refused = match to {
        _ if !all_calls_answered => "a call without its result",
        "anthropic" | "bedrock" | "gemini" if !turns.starts_with('u') => "the user comes first",
        "bedrock" | "gemini" if pairs.iter().any(|(one, next)| is_user(*one) == is_user(*next)) => {
            "roles alternate"
        }
        "bedrock" | "gemini" | "ollama" | "vllm" if late.contains(['s', 'd']) => {
            "a late system message"
        }
        "groq" if model.contains("llama") && late.contains(['s', 'd']) => "a late system message",
        "anthropic" if model != "claude-opus-4-8" && late.contains('s') => "a late system message",
        "anthropic"
            if pairs.iter().any(|(one, next)| *one == 's' && !matches!(next, 'a' | 'c')) =>
        {
            "system precedes the assistant"
        }
        "anthropic" if pairs.iter().any(|(one, next)| *next == 's' && !is_user(*one)) => {
            "system follows the user"
        }
        "mistral" if !matches!(last, Some('u' | 't')) => "the last is user or tool",
        "mistral" if pairs.iter().any(|(one, next)| *next == 's' && !matches!(one, 'u' | 's')) => {
            "system follows the user"
        }
        _ => return None,
    };
    Some(refused)
}

fn is_user(letter: char) -> bool {
    matches!(letter, 'u' | 't')
}

/// Every conversation of a user's turn, two further turns and a system message at any position.
#[test]
fn conversations_with_system_messages_stay_legal() {
    let turns = ["u", "uau", "uct", "uctau", "uctuau", "ucta", "sucts"];
    for turns in turns {
        for at in 0..=turns.len() {
            for more in ["s", "d", "sd"] {
                let mut row = turns.to_owned();
                row.insert_str(at, more);
                // An assistant turn that the client wants continued is covered elsewhere.
                if row.trim_end_matches(['s', 'd']).ends_with('a') {
                    continue;
                }
                for (to, model) in TARGETS {
                    let (body, _) = translate("openai-chat", to, model, conversation(&row));
                    let got = letters(&body);
                    assert_eq!(complaint(to, model, &got), None, "{row} → {to} {model}: {got}");
                }
            }
        }
    }
}

#[test]
fn a_late_system_message_of_claude_code_reaches_every_model() {
    let body = r#"{"model":"m","max_tokens":9,"system":"be kind","messages":[
        {"role":"user","content":"hi"},{"role":"system","content":[{"type":"text","text":"rule"}]}]}"#;
    let body = || Json::parse(body).unwrap();
    let (out, _) = translate("anthropic", "openai-responses", "gpt-5", body());
    assert_eq!(out.pointer("/input/1/role").and_then(Json::as_str), Some("system"), "{out}");
    let (out, report) = translate("anthropic", "gemini", "gemini-3-pro", body());
    let text = "<system-reminder>\nrule\n</system-reminder>";
    assert_eq!(out.pointer("/contents/0/parts/1/text").and_then(Json::as_str), Some(text), "{out}");
    let paths: Vec<&str> = report.losses.iter().map(|entry| entry.path.as_str()).collect();
    assert!(paths.contains(&"/messages/1"), "{paths:?}");
}

#[test]
fn developer_messages_of_codex_join_the_instructions() {
    let body = r#"{"model":"m","instructions":"be kind","input":[
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"rule one"}]},
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"rule two"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#;
    let body = || Json::parse(body).unwrap();
    for (to, model) in TARGETS.into_iter().filter(|(to, _)| *to != "openai-chat") {
        let (out, report) = translate("openai-responses", to, model, body());
        let got = letters(&out);
        assert!(matches!(got.as_str(), "Su" | "su" | "sssu"), "{to}: {got} {out}");
        assert_eq!(report.count_of(Severity::Minor), 0, "{to}: {:?}", report.losses);
    }
}

#[test]
fn a_system_message_after_a_hosted_tool_stays_with_new_claude_models() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},
         {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]},
        {"role":"system","content":"rule"}]}"#;
    for (model, expected) in [("claude-opus-5", "uas"), ("claude-sonnet-4-5", "uau!")] {
        let options =
            Options { model: Some(model.to_owned()), changed: true, ..Options::default() };
        let codec = lookup("anthropic").unwrap();
        let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
        let out = Translator::new(codec, codec, &options).request(wire).unwrap().value.body;
        assert_eq!(letters(&out).replace('c', "a"), expected, "{model}: {out}");
    }
}
