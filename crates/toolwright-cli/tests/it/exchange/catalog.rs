//! The catalog in chat requests: its tools, with models of upstreams that filter recommendations and embed texts, and
//! its functions as tools.

use toolwright_catalog::{Catalog, Manifest, Package, PublishOptions};
use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

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

/// Publishes two versions of a function; each returns what its server answers at its path.
fn publish_versions(gateway: &Gateway, server: &Upstream) {
    let catalog = Catalog::open(&gateway.data()).unwrap();
    for version in ["1.2.0", "1.3.0"] {
        let text = format!(
            r#"{{"id":"pet-store","version":"{version}","name":"Pets","description":"A store of pets.",
                "functions":[{{"name":"get_pet","description":"Version {version} of get_pet","effect":"read-only",
                "parameters":[{{"name":"id","type":"integer","required":true}}]}}],
                "runtime":{{"http":{{"base_url":"{}/v{version}"}}}}}}"#,
            server.url()
        );
        let manifest = Manifest::parse(&Json::parse(&text).unwrap()).unwrap();
        catalog.publish(Package::new(manifest), PublishOptions::default()).unwrap();
    }
}

const LOCAL: &str = "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n";

/// A model that calls the one tool that it is offered.
pub(crate) fn calls_offered(arguments: &'static str) -> Reply {
    Reply::made(move |request| {
        let tools = items_at(&request.json(), "/tools");
        assert_eq!(tools.len(), 1, "{}", request.text());
        let name = text_at(&tools[0], "/function/name");
        let is_legal = name.chars().all(|own| own.is_ascii_alphanumeric() || "_-".contains(own));
        assert!(is_legal, "{name}");
        whole("", &[call(0, "call_a", &name, arguments)])
    })
}

/// Lets a model call the one tool that it is offered, and returns the description of that tool.
fn call_offered(gateway: &Gateway, upstream: &Upstream, headers: &[(&str, &str)]) -> String {
    upstream.then(calls_offered(r#"{"id": 7}"#));
    upstream.then(whole("Done.", &[]));
    let before = upstream.received().len();
    gateway.post(CHAT, headers, question(false, "").as_bytes()).ok();
    text_at(&upstream.received()[before].json(), "/tools/0/function/description")
}

#[test]
fn a_chat_request_names_a_function_of_the_catalog() {
    let (upstream, server) = (Upstream::start([]), Upstream::start([]));
    let alias = "[models]\nshop = { use = [\"up/gpt-x\"], tools = [\"pet-store/get_pet\"] }\n";
    let config = table("up", "openai-chat", &upstream) + LOCAL + alias;
    let gateway = Gateway::start(&config);
    publish_versions(&gateway, &server);
    for (wanted, version) in [("pet-store/get_pet", "1.3.0"), ("pet-store@1.2.0/get_pet", "1.2.0")]
    {
        server.then(Reply::json(200, r#"{"name":"Rex"}"#));
        let headers = [("toolwright-tools", wanted)];
        let description = call_offered(&gateway, &upstream, &headers);
        assert!(description.contains(&format!("Version {version}")), "{description}");
        assert_eq!(server.last().path, format!("/v{version}/get_pet"));
        assert_eq!(server.last().json().compact(), r#"{"id":7}"#);
        assert!(upstream.last().text().contains("Rex"), "{}", upstream.last().text());
    }
    // An alias offers it as well.
    upstream.then(whole("Nothing to do.", &[]));
    let shop = question(false, "").replace("\"up/gpt-x\"", "\"shop\"");
    assert!(shop.contains("shop"), "{shop}");
    gateway.post(CHAT, &[], shop.as_bytes()).ok();
    assert!(upstream.last().text().contains("Version 1.3.0"), "{}", upstream.last().text());
    let refused = |wanted: &str| {
        let answer =
            gateway.post(CHAT, &[("toolwright-tools", wanted)], question(false, "").as_bytes());
        assert_eq!(answer.status, 400, "{}", answer.text());
        text_at(&answer.json(), "/error/message")
    };
    let message = refused("pet-store/get_pets");
    assert!(message.contains("pet-store/get_pet"), "{message}");
    let message = refused("pet-store@9.9.9/get_pet");
    assert!(message.contains("no version 9.9.9"), "{message}");
    let message = refused("pet-store@1.2.0/get_pet, pet-store@1.3.0/get_pet");
    assert!(message.contains("two versions"), "{message}");
}

#[test]
fn a_key_binds_functions_without_their_version() {
    let (upstream, server) = (Upstream::start([]), Upstream::start([]));
    let key = |name: &str, tools: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntools = [\"{tools}\"]\n")
    };
    let keys = key("pets", "pet-store/get_pet") + &key("others", "other/*");
    let gateway = Gateway::start(&(table("up", "openai-chat", &upstream) + LOCAL + &keys));
    publish_versions(&gateway, &server);
    let wanted = ("toolwright-tools", "pet-store@1.2.0/get_pet");
    server.then(Reply::json(200, "{}"));
    let description =
        call_offered(&gateway, &upstream, &[wanted, ("authorization", "Bearer key-pets")]);
    assert!(description.contains("Version 1.2.0"), "{description}");
    let headers = [wanted, ("authorization", "Bearer key-others")];
    let answer = gateway.post(CHAT, &headers, question(false, "").as_bytes());
    assert_eq!(answer.status, 403, "{}", answer.text());
}
