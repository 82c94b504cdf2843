//! Settings that several vendors share under different names, and fields that OpenAI rejects.

use toolwright_core::Json;
use toolwright_core::profile::{Overrides, Setting};
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Report, Translator};

use crate::fixtures;

fn translate(from: &str, to: &str, body: &str) -> (Json, Report) {
    let options = Options { changed: true, ..Options::default() };
    let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
    let translator = Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options);
    let out = translator.request(wire).unwrap();
    (out.value.body, out.report)
}

fn paths(report: &Report) -> Vec<&str> {
    report.losses.iter().map(|entry| entry.path.as_str()).collect()
}

/// Where each of [`fixtures::dialects`] has a setting, by its JSON Pointer; empty if it has none.
type Row = (&'static str, &'static str, [&'static str; 9]);

const SETTINGS: [Row; 6] = [
    (
        "frequency_penalty",
        "0.5",
        [
            "/frequency_penalty",
            "",
            "",
            "",
            "/frequency_penalty",
            "/generationConfig/frequencyPenalty",
            "/options/frequency_penalty",
            "/frequency_penalty",
            "/frequency_penalty",
        ],
    ),
    (
        "presence_penalty",
        "-0.5",
        [
            "/presence_penalty",
            "",
            "",
            "",
            "/presence_penalty",
            "/generationConfig/presencePenalty",
            "/options/presence_penalty",
            "/presence_penalty",
            "/presence_penalty",
        ],
    ),
    ("n", "2", ["/n", "", "", "", "", "/generationConfig/candidateCount", "", "/n", ""]),
    (
        "logprobs",
        "true",
        [
            "/logprobs",
            "/include/0",
            "",
            "",
            "/logprobs",
            "/generationConfig/responseLogprobs",
            "/logprobs",
            "",
            "/logprobs",
        ],
    ),
    (
        "top_logprobs",
        "3",
        [
            "/top_logprobs",
            "/top_logprobs",
            "",
            "",
            "/top_logprobs",
            "/generationConfig/logprobs",
            "/top_logprobs",
            "",
            "",
        ],
    ),
    ("user", "\"u_1\"", ["/user", "/user", "/metadata/user_id", "", "", "", "", "", ""]),
];

#[test]
fn shared_settings_reach_every_target_that_has_them() {
    for (name, value, places) in SETTINGS {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"{name}":{value}}}"#
        );
        assert_eq!(fixtures::dialects().count(), places.len());
        for (to, place) in fixtures::dialects().zip(places) {
            let (out, report) = translate("openai-chat", to, &body);
            if place.is_empty() {
                assert_eq!(paths(&report), [format!("/{name}")], "{name} → {to}: {out}");
                continue;
            }
            let own = out.pointer(place).unwrap_or_else(|| panic!("{name} → {to}: {out}"));
            if place != "/include/0" {
                assert_eq!(own.to_string(), value, "{name} → {to}");
            }
            assert!(report.losses.is_empty(), "{name} → {to}: {:?}", report.losses);
            // And back.
            let (again, _) = translate(to, "openai-chat", &out.to_string());
            let own = again.get(name).unwrap_or_else(|| panic!("{to} → {name}: {again}"));
            assert_eq!(own.to_string(), value, "{to} → openai-chat");
        }
    }
}

#[test]
fn a_setting_that_an_upstream_is_configured_to_drop_is_reported() {
    let chat = lookup("openai-chat").unwrap();
    for (name, value, _) in SETTINGS {
        let text = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"{name}":{value}}}"#
        );
        let overrides = Overrides { drop: vec![name.parse().unwrap()], ..Overrides::NONE };
        let options = Options { changed: true, overrides, ..Options::default() };
        let wire = WireRequest { body: Json::parse(&text).unwrap(), ..WireRequest::default() };
        let out = Translator::new(chat, chat, &options).request(wire).unwrap();
        assert!(out.value.body.get(name).is_none(), "{name}: {}", out.value.body);
        assert_eq!(paths(&out.report), [format!("/{name}")]);
    }
}

#[test]
fn dropping_log_probabilities_drops_their_alternatives() {
    let chat = lookup("openai-chat").unwrap();
    let text = r#"{"model":"m","messages":[],"logprobs":true,"top_logprobs":3}"#;
    let overrides = Overrides { drop: vec![Setting::Logprobs], ..Overrides::NONE };
    let options = Options { changed: true, overrides, ..Options::default() };
    let wire = WireRequest { body: Json::parse(text).unwrap(), ..WireRequest::default() };
    let out = Translator::new(chat, chat, &options).request(wire).unwrap();
    assert_eq!(paths(&out.report), ["/logprobs", "/top_logprobs"]);
}

#[test]
fn shared_settings_with_their_default_are_no_loss() {
    for (name, value) in [
        ("frequency_penalty", "0"),
        ("presence_penalty", "0.0"),
        ("n", "1"),
        ("logprobs", "false"),
        ("top_logprobs", "0"),
    ] {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"{name}":{value}}}"#
        );
        for to in fixtures::dialects() {
            let (_, report) = translate("openai-chat", to, &body);
            assert!(report.losses.is_empty(), "{name} → {to}: {:?}", report.losses);
        }
    }
}

#[test]
fn fields_of_a_compatible_vendor_do_not_reach_openai_unreported() {
    let body = r#"{"model":"m","provider":{"order":["a"]},"transforms":[],"metadata":{"a":"b"},"messages":[
        {"role":"user","content":"hi","name":"ann"},
        {"role":"assistant","content":"ok","reasoning_details":[{"type":"reasoning.text","text":"t"}]},
        {"role":"user","content":"go on"}]}"#;
    let (out, report) = translate("openrouter", "openai-chat", body);
    assert_eq!(out.get("provider"), None, "{out}");
    assert!(!out.to_string().contains("reasoning_details"), "{out}");
    assert_eq!(out.pointer("/metadata/a").and_then(Json::as_str), Some("b"), "{out}");
    assert_eq!(out.pointer("/messages/0/name").and_then(Json::as_str), Some("ann"), "{out}");
    let paths = paths(&report);
    assert!(paths.contains(&"/provider"), "{paths:?}");
    assert!(paths.iter().any(|path| path.contains("reasoning_details")), "{paths:?}");
    assert!(!paths.contains(&"/transforms"), "{paths:?}");
    // A vendor that supports such fields receives them.
    let (out, _) = translate("openai-chat", "openrouter", body);
    assert!(out.get("provider").is_some(), "{out}");
}

#[test]
fn a_translated_stream_asks_every_compatible_vendor_for_usage() {
    let body =
        r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    for to in ["openai-chat", "deepseek", "groq", "openrouter", "vllm", "qwen", "xai"] {
        let (body, _) = translate("anthropic", to, body);
        let asks = body.pointer("/stream_options/include_usage").and_then(Json::as_bool);
        assert_eq!(asks, Some(true), "{to}: {body}");
    }
    let whole = body.replace("true", "false");
    let (out, _) = translate("anthropic", "openai-chat", &whole);
    assert_eq!(out.get("stream_options"), None, "{out}");
}
