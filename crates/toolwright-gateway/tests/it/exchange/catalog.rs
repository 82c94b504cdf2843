//! The tools of the catalog with models of upstreams: one that filters recommendations, and one that embeds texts.

use toolwright::catalog::{Catalog, Manifest, Package, PublishOptions};
use toolwright_core::Json;

use super::tools::{CHAT, call, of_role, question, whole};
use crate::gateway::{Gateway, Reply, Upstream, items_at, table, text_at, until};

const CATALOG: (&str, &str) = ("toolwright-tools", "catalog");

/// Publishes two prefabs that a need finds alike.
fn publish(gateway: &Gateway) {
    let catalog = Catalog::open(&gateway.data()).unwrap();
    for (id, word) in [("prefab-a", "alpha"), ("prefab-b", "beta")] {
        let text = format!(
            r#"{{"id":"{id}","version":"1.0.0","name":"{id}","description":"One of two prefabs.",
                "functions":[{{"name":"report","description":"{word}"}}],
                "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#
        );
        let manifest = Manifest::parse(&Json::parse(&text).unwrap()).unwrap();
        catalog.publish(Package::new(manifest), PublishOptions::default()).unwrap();
    }
}

/// Lets a client's model call `prefab_recommend`, and returns the ids that it receives.
fn recommended(gateway: &Gateway, upstream: &Upstream) -> Vec<String> {
    upstream
        .then(whole("", &[call(0, "call_a", "prefab_recommend", r#"{"query":"kindly report"}"#)]));
    upstream.then(whole("Done.", &[]));
    gateway.post(CHAT, &[CATALOG], question(false, "").as_bytes()).ok();
    let outcome = of_role(&upstream.last().json(), "tool").remove(0);
    let outcome = Json::parse(&text_at(&outcome, "/content")).unwrap();
    let found = items_at(&outcome, "/result/recommended_prefabs");
    found.iter().map(|own| text_at(own, "/id")).collect()
}

fn until_logged(gateway: &Gateway, text: &str) {
    until(text, || gateway.log().contains(text).then_some(()));
}

#[test]
fn a_model_of_an_upstream_filters_recommendations() {
    let (upstream, judge) = (Upstream::start([]), Upstream::start([]));
    let tables = table("up", "openai-chat", &upstream) + &table("judge", "anthropic", &judge);
    let config = format!(
        "{tables}[models]\nsmall = [\"judge/claude-x\"]\n[catalog]\nfilter_model = \"small\"\n"
    );
    let gateway = Gateway::start(&config);
    publish(&gateway);
    judge.then(Reply::json(
        200,
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[
            {"type":"tool_use","id":"toolu_1","name":"choose_prefabs","input":{"ids":["prefab-b"]}}],
            "stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#,
    ));
    assert_eq!(recommended(&gateway, &upstream), ["prefab-b"]);
    let asked = judge.last().json();
    assert_eq!(text_at(&asked, "/model"), "claude-x");
    assert_eq!(text_at(&asked, "/tool_choice/name"), "choose_prefabs");
    assert_eq!(text_at(&asked, "/tools/0/input_schema/properties/ids/items/enum/0"), "prefab-a");
    judge.then(Reply::json(
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
    ));
    assert_eq!(recommended(&gateway, &upstream), ["prefab-a", "prefab-b"]);
    until_logged(&gateway, "the model that filters recommendations failed");
}

/// Vectors for the texts of a request, in OpenAI's form.
fn embedded() -> Reply {
    Reply::made(|request| {
        let texts = items_at(&request.json(), "/input");
        let vectors = texts.iter().enumerate().map(|(at, text)| {
            let text = text.as_str().unwrap();
            let is_similar = text.contains("beta") || text.contains("kindly");
            let vector = if is_similar { "[1.0,0.1]" } else { "[0.1,1.0]" };
            format!(r#"{{"object":"embedding","index":{at},"embedding":{vector}}}"#)
        });
        let vectors: Vec<String> = vectors.collect();
        let body = format!(
            r#"{{"object":"list","model":"embed-x","data":[{}],"usage":{{"prompt_tokens":1,"total_tokens":1}}}}"#,
            vectors.join(",")
        );
        Reply::json(200, body)
    })
}

#[test]
fn an_embedding_model_of_an_upstream_compares_meanings() {
    let (upstream, vectors) = (Upstream::start([]), Upstream::start([]));
    let tables = table("up", "openai-chat", &upstream) + &table("vec", "openai-chat", &vectors);
    let gateway = Gateway::start(&format!("{tables}[catalog]\nembeddings = \"vec/embed-x\"\n"));
    publish(&gateway);
    vectors.then(embedded());
    let first = recommended(&gateway, &upstream);
    assert_eq!(first, ["prefab-a", "prefab-b"], "functions have no vectors yet");
    vectors.until_received(1);
    until("the vectors of functions", || {
        vectors.then(embedded());
        (recommended(&gateway, &upstream) == ["prefab-b", "prefab-a"]).then_some(())
    });
    let received = vectors.received();
    assert_eq!(text_at(&received[0].json(), "/model"), "embed-x");
    assert_eq!(items_at(&received[0].json(), "/input").len(), 13, "one batch");
    assert!(received[1..].iter().all(|own| items_at(&own.json(), "/input").len() == 1));
    // An upstream that fails leaves the order of the words.
    vectors.then(Reply::json(500, r#"{"error":{"message":"broken"}}"#));
    until("the failure", || (recommended(&gateway, &upstream) == first).then_some(()));
    until_logged(&gateway, "a need has no vector");
}
