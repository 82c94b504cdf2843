//! Token counts and descriptions of models: from the upstream if it has such an endpoint, otherwise
//! from the gateway, which marks them as its own.

use toolwright_core::Json;

use crate::gateway::{Gateway, Reply, Upstream, at, table, text_at};

const COUNT: &str = "/v1/messages/count_tokens";
const GEMINI_COUNT: &str = "/v1beta/models/fast:countTokens";

fn alias(dialect: &str, upstream: &Upstream) -> String {
    format!("[models]\nfast = [\"up/m-1\"]\n{}", table("up", dialect, upstream))
}

fn anthropic(text: &str, more: &str) -> String {
    format!(r#"{{"model":"fast","messages":[{{"role":"user","content":"{text}"}}]{more}}}"#)
}

fn number_at(document: &Json, pointer: &str) -> u64 {
    at(document, pointer).compact().parse().unwrap()
}

#[test]
fn a_count_passes_to_an_upstream_of_the_same_dialect() {
    let reply = r#"{ "input_tokens": 2095 }"#;
    let upstream = Upstream::start([Reply::json(200, reply)]);
    let gateway = Gateway::start(&alias("anthropic", &upstream));
    let version = [("anthropic-version", "2023-06-01")];
    let answer = gateway.post(COUNT, &version, anthropic("hi", "").as_bytes()).ok();
    assert_eq!(answer.text(), reply);
    assert_eq!(answer.header("toolwright-estimated"), None);
    assert_eq!(answer.header("toolwright-upstream"), Some("up"));
    let received = upstream.last();
    assert_eq!(received.path, COUNT);
    assert_eq!(received.text(), anthropic("hi", "").replace("fast", "m-1"));
    let told = gateway.end().pop().unwrap();
    assert_eq!((told.status, &*told.endpoint), (200, "count_tokens"));
}

#[test]
fn a_count_of_gemini_passes_with_the_model_of_the_path_and_of_the_wrapped_request() {
    let reply = r#"{"totalTokens":31}"#;
    let upstream = Upstream::start([Reply::json(200, reply), Reply::json(200, reply)]);
    let gateway = Gateway::start(&alias("gemini", &upstream));
    let contents = r#""contents":[{"parts":[{"text":"hi"}]}]"#;
    let plain = format!("{{{contents}}}");
    assert_eq!(gateway.ask_json(GEMINI_COUNT, &plain).ok().text(), reply);
    assert_eq!(upstream.last().path, "/v1beta/models/m-1:countTokens");
    assert_eq!(upstream.last().text(), plain);
    let wrapped = format!(r#"{{"generateContentRequest":{{"model":"models/fast",{contents}}}}}"#);
    assert_eq!(gateway.ask_json(GEMINI_COUNT, &wrapped).ok().text(), reply);
    assert_eq!(upstream.last().text(), wrapped.replace("models/fast", "models/m-1"));
}

#[test]
fn a_count_for_another_vendor_is_estimated_and_says_so() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&alias("openai-chat", &upstream));
    let count = |body: &str| {
        let answer = gateway.ask_json(COUNT, body).ok();
        assert_eq!(answer.header("toolwright-estimated"), Some("true"));
        assert_eq!(answer.header("toolwright-upstream"), None);
        number_at(&answer.json(), "/input_tokens")
    };
    let few = count(&anthropic("hi", ""));
    assert!((1..10).contains(&few), "{few}");
    let words = "the quick brown fox ".repeat(100);
    let many = count(&anthropic(&words, ""));
    assert!((400..420).contains(&many), "{many}");
    let system = count(&anthropic("hi", &format!(r#","system":"{words}""#)));
    assert!((400..430).contains(&system), "{system}");
    let tool = r#","tools":[{"name":"get_weather","description":"Current weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]"#;
    let tools = count(&anthropic("hi", tool));
    assert!((few + 20..few + 60).contains(&tools), "{tools}");
    assert!(upstream.received().is_empty());
}

#[test]
fn a_count_of_gemini_for_another_vendor_is_estimated() {
    let gateway = Gateway::start("");
    let body = r#"{"generateContentRequest":{"model":"models/x","contents":[{"role":"user","parts":[{"text":"one two three"}]}],"systemInstruction":{"parts":[{"text":"four five"}]}}}"#;
    let answer = gateway.ask_json("/v1beta/models/offline%2Frules:countTokens", body).ok();
    assert_eq!(answer.header("toolwright-estimated"), Some("true"));
    let total = number_at(&answer.json(), "/totalTokens");
    assert!((5..20).contains(&total), "{total}");
    assert_eq!(number_at(&answer.json(), "/promptTokensDetails/0/tokenCount"), total);
}

#[test]
fn a_count_is_estimated_where_the_upstream_has_no_such_endpoint() {
    let missing = || Reply::json(404, r#"{"detail":"Not Found"}"#);
    let refused = r#"{"type":"error","error":{"type":"not_found_error","message":"model: m-1"}}"#;
    let upstream = Upstream::start([missing(), Reply::json(404, refused)]);
    let gateway = Gateway::start(&alias("anthropic", &upstream));
    let answer = gateway.ask_json(COUNT, &anthropic("hi", "")).ok();
    assert_eq!(answer.header("toolwright-estimated"), Some("true"));
    // A model that the vendor does not have is reported by the vendor.
    let answer = gateway.ask_json(COUNT, &anthropic("hi", ""));
    assert_eq!((answer.status, answer.text().as_str()), (404, refused));
}

#[test]
fn an_unreadable_count_request_is_refused_in_the_clients_dialect() {
    let gateway = Gateway::start("");
    for body in [
        r#"{"model":"offline/rules","messages":7}"#,
        r#"{"messages":[]}"#,
        r#"{"model":"offline/rules","messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
    ] {
        let answer = gateway.ask_json(COUNT, body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert_eq!(text_at(&answer.json(), "/error/type"), "invalid_request_error");
    }
    let answer = gateway.ask_json(COUNT, r#"{"model":"nowhere/m","messages":[]}"#);
    assert_eq!(text_at(&answer.json(), "/error/type"), "not_found_error");
}

#[test]
fn ollama_clients_discover_version_models_and_capabilities() {
    let upstream = Upstream::start([]);
    let config = format!(
        "[models]\nfast = [\"up/claude-haiku-5\"]\nplain = [\"offline/rules\"]\n{}",
        table("up", "anthropic", &upstream)
    );
    let gateway = Gateway::start(&config);
    for before in ["", "/ollama"] {
        let version = gateway.get(&format!("{before}/api/version"), &[]).ok().json();
        assert_eq!(text_at(&version, "/version").split('.').count(), 3);
        let tags = gateway.get(&format!("{before}/api/tags"), &[]).ok().json();
        assert_eq!(gateway.get(&format!("{before}/api/ps"), &[]).ok().json(), tags);
        assert_eq!(text_at(&tags, "/models/0/model"), "fast");
        let show = format!("{before}/api/show");
        for member in ["model", "name"] {
            let shown = gateway.ask_json(&show, &format!(r#"{{"{member}":"fast"}}"#)).ok();
            assert_eq!(shown.header("content-type"), Some("application/json"));
            let shown = shown.json();
            let capabilities = r#"["completion","tools","vision"]"#;
            assert_eq!(at(&shown, "/capabilities").compact(), capabilities);
            assert_eq!(text_at(&shown, "/details/family"), "up");
            assert_eq!(number_at(&shown, "/model_info/up.context_length"), 200_000);
        }
        let shown = gateway.ask_json(&show, r#"{"model":"plain"}"#).ok().json();
        assert_eq!(at(&shown, "/capabilities").compact(), r#"["completion","tools"]"#);
        let answer = gateway.ask_json(&show, r#"{"model":"nothing"}"#);
        let expected = r#"{"error":"model 'nothing' not found"}"#;
        assert_eq!((answer.status, answer.text().as_str()), (404, expected));
        assert_eq!(gateway.ask_json(&show, "{}").status, 400);
    }
    assert!(upstream.received().is_empty());
}

#[test]
fn an_ollama_upstream_describes_its_own_models() {
    let shown = r#"{"capabilities":["completion"],"model_info":{"llama.context_length":8192}}"#;
    let missing = r#"{"error":"model 'm-1' not found"}"#;
    let upstream = Upstream::start([Reply::json(200, shown), Reply::json(404, missing)]);
    let gateway = Gateway::start(&alias("ollama", &upstream));
    let answer = gateway.ask_json("/api/show", r#"{"model":"fast"}"#).ok();
    assert_eq!(answer.text(), shown);
    assert_eq!(upstream.last().path, "/api/show");
    assert_eq!(upstream.last().text(), r#"{"model":"m-1"}"#);
    let answer = gateway.ask_json("/api/show", r#"{"name":"fast"}"#);
    assert_eq!((answer.status, answer.text().as_str()), (404, missing));
    assert_eq!(upstream.last().text(), r#"{"name":"m-1"}"#);
}
