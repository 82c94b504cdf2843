//! Calls that wait for approval: the exchange ends with a notice, a person answers, and the conversation
//! goes on.

use std::path::Path;
use std::process::Command;

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use super::tools::{CHAT, TOOLS, call, of_role, question, streamed, whole};
use crate::gateway::{Answer, Gateway, Upstream, at, items_at, table, text_at, until};

const WANTED: (&str, &str) = ("toolwright-tools", "write_file, read_file");
const APPROVE: &str = r#"{"answer":"approve"}"#;

fn config(upstream: &Upstream) -> String {
    [&table("up", "openai-chat", upstream), TOOLS].concat()
}

/// A turn of the model that writes a file.
fn write() -> [String; 1] {
    [call(0, "call_w", "write_file", r#"{"path":"新.txt","content":"x"}"#)]
}

/// Asks the model, which calls `write_file`, and returns the reply.
fn ask(gateway: &Gateway, upstream: &Upstream, headers: &[(&str, &str)]) -> Answer {
    upstream.then(whole("I will write it.", &write()));
    let headers = [headers, &[WANTED]].concat();
    gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok()
}

fn id_of(answer: &Answer) -> String {
    answer.header("toolwright-approval").unwrap().to_owned()
}

/// The next request of a client that keeps the history: the reply, and a word of the user.
fn next_body(reply: &str, stream: bool) -> String {
    let reply = Json::from(reply).compact();
    format!(
        r#"{{"model":"up/gpt-x","stream":{stream},"messages":[{{"role":"user","content":"What is here?"}},{{"role":"assistant","content":{reply}}},{{"role":"user","content":"继续"}}]}}"#
    )
}

fn said(answer: &Answer) -> String {
    text_at(&answer.json(), "/choices/0/message/content")
}

/// The gateway's command line, on the same data.
fn approvals(gateway: &Gateway, arguments: &[&str]) -> (bool, String) {
    approvals_in(&gateway.data(), arguments)
}

/// The command line on a data folder.
fn approvals_in(data: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .arg("approvals")
        .args(arguments)
        .args(["--data", data.to_str().unwrap()])
        .env("USER", "operator")
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.success(), text)
}

#[test]
fn a_call_waits_for_approval_and_runs_once() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let answer = ask(&gateway, &upstream, &[]);
    let (id, notice) = (id_of(&answer), said(&answer));
    assert!(notice.starts_with("I will write it.\n\nThis call waits"), "{notice}");
    assert!(notice.contains(&id) && notice.contains(r#"write_file {"path":"新.txt""#), "{notice}");
    assert_eq!(text_at(&answer.json(), "/choices/0/finish_reason"), "stop");
    assert!(!gateway.file("新.txt").exists());

    let listed = gateway.get("/v1/approvals", &[]).ok().json();
    let pending = items_at(&listed, "/data");
    assert_eq!(pending.len(), 1);
    assert_eq!(text_at(&pending[0], "/id"), id);
    assert_eq!(text_at(&pending[0], "/status"), "pending");
    assert_eq!(text_at(&pending[0], "/arguments/path"), "新.txt");
    let problems = crate::telemetry::openapi::schema("Approval").violations(&pending[0]);
    assert!(problems.is_empty(), "{problems:?}");

    // Without an answer nothing happens, and no model is asked.
    let asked = upstream.received().len();
    let again = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes()).ok();
    assert_eq!(id_of(&again), id);
    assert_eq!(at(&again.json(), "/usage/total_tokens").compact(), "0");
    assert_eq!(upstream.received().len(), asked);

    // A restart in between changes nothing.
    let gateway = gateway.restart(&config(&upstream));
    let path = format!("/v1/approvals/{id}");
    let answered = gateway.ask_json(&path, APPROVE).ok().json();
    assert_eq!(text_at(&answered, "/status"), "approved");
    assert_eq!(text_at(&answered, "/answer/by"), "open");
    upstream.then(whole("Written.", &[]));
    let done = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&done), "Written.");
    assert_eq!(at(&done.json(), "/usage/total_tokens").compact(), "15", "of this request");
    assert_eq!(done.header("toolwright-approval"), None);
    assert_eq!(done.header("toolwright-conversation"), answer.header("toolwright-conversation"));
    assert_eq!(std::fs::read_to_string(gateway.file("新.txt")).unwrap(), "x");
    let request = upstream.last().json();
    let outcome = text_at(&of_role(&request, "tool")[0], "/content");
    assert!(outcome.contains("新.txt"), "{outcome}");
    let users = of_role(&request, "user");
    assert_eq!(
        text_at(users.last().unwrap(), "/content"),
        "继续",
        "the model reads the new message"
    );

    // The run is over: the next request is a new one, and the file is not written again.
    std::fs::remove_file(gateway.file("新.txt")).unwrap();
    upstream.then(whole("Hello.", &[]));
    let other = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&other), "Hello.");
    assert!(!gateway.file("新.txt").exists());
    assert!(items_at(&gateway.get("/v1/approvals", &[]).ok().json(), "/data").is_empty());
}

#[test]
fn a_rejection_reaches_the_model_and_answers_do_not_change() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let conversation = [("toolwright-conversation", "thread-1")];
    let answer = ask(&gateway, &upstream, &conversation);
    let path = format!("/v1/approvals/{}", id_of(&answer));
    for body in ["", "{}", r#"{"answer":"yes"}"#, r#"{"answer":"reject","reason":7}"#] {
        assert_eq!(gateway.ask_json(&path, body).status, 400, "{body}");
    }
    let reject = r#"{"answer":"reject","reason":"Not on a Friday."}"#;
    gateway.ask_json(&path, reject).ok();
    gateway.ask_json(&path, reject).ok();
    let conflict = gateway.ask_json(&path, APPROVE);
    assert_eq!(conflict.status, 409, "{}", conflict.text());
    assert!(conflict.text().contains("already rejected"), "{}", conflict.text());
    // The header is enough; the history need not contain the notice.
    upstream.then(whole("Then not.", &[]));
    let headers = [&conversation[..], &[WANTED]].concat();
    let done = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(said(&done), "Then not.");
    let outcome = text_at(&of_role(&upstream.last().json(), "tool")[0], "/content");
    assert!(outcome.contains("Not on a Friday.") && outcome.contains("Nothing was done"));
    assert!(!gateway.file("新.txt").exists());
}

#[test]
fn a_stream_ends_with_the_notice_and_goes_on_as_a_stream() {
    let upstream = Upstream::start([streamed("I will write it.", &write())]);
    let gateway = Gateway::start(&config(&upstream));
    let text = |answer: &Answer| -> String {
        let events = answer.events();
        let deltas = events.iter().map(|event| at(event, "/choices/0/delta/content"));
        deltas.filter_map(|delta| delta.as_str().map(str::to_owned)).collect()
    };
    let answer = gateway.post(CHAT, &[WANTED], question(true, "").as_bytes()).ok();
    let notice = text(&answer);
    assert!(notice.starts_with("I will write it.\n\nThis call waits"), "{notice}");
    assert!(answer.text().contains(r#""finish_reason":"stop""#));
    assert_eq!(answer.text().matches("[DONE]").count(), 1);
    let listed = gateway.get("/v1/approvals", &[]).ok().json();
    let id = text_at(&listed, "/data/0/id");
    assert!(notice.contains(&id), "{notice}");
    gateway.ask_json(&format!("/v1/approvals/{id}"), APPROVE).ok();
    upstream.then(streamed("Written.", &[]));
    let done = gateway.post(CHAT, &[WANTED], next_body(&notice, true).as_bytes()).ok();
    assert_eq!(text(&done), "Written.");
    assert!(gateway.file("新.txt").exists());
}

#[test]
fn a_chain_of_responses_and_a_repeated_request_continue_the_run() {
    let upstream = Upstream::start([whole("", &write())]);
    let gateway = Gateway::start(&config(&upstream));
    let first = r#"{"model":"up/gpt-x","input":"Write it."}"#;
    let answer = gateway.post("/v1/responses", &[WANTED], first.as_bytes()).ok();
    let (id, response) = (id_of(&answer), text_at(&answer.json(), "/id"));
    gateway.ask_json(&format!("/v1/approvals/{id}"), APPROVE).ok();
    upstream.then(whole("Written.", &[]));
    let next =
        format!(r#"{{"model":"up/gpt-x","input":"go on","previous_response_id":"{response}"}}"#);
    let done = gateway.post("/v1/responses", &[WANTED], next.as_bytes()).ok();
    assert!(done.text().contains("Written."), "{}", done.text());
    assert!(gateway.file("新.txt").exists());

    std::fs::remove_file(gateway.file("新.txt")).unwrap();
    let keyed = [WANTED, ("idempotency-key", "order-1")];
    upstream.then(whole("", &write()));
    let answer = gateway.post(CHAT, &keyed, question(false, "").as_bytes()).ok();
    gateway.ask_json(&format!("/v1/approvals/{}", id_of(&answer)), APPROVE).ok();
    upstream.then(whole("Written again.", &[]));
    let done = gateway.post(CHAT, &keyed, question(false, "").as_bytes()).ok();
    assert_eq!(said(&done), "Written again.");
    assert!(gateway.file("新.txt").exists());
    let asked = upstream.received().len();
    assert_eq!(said(&gateway.post(CHAT, &keyed, question(false, "").as_bytes()).ok()), said(&done));
    assert_eq!(upstream.received().len(), asked, "the finished run is replayed");
}

#[test]
fn only_a_key_that_may_approve_answers_and_other_tenants_see_nothing() {
    let upstream = Upstream::start([]);
    let key = |name: &str, more: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\n{more}")
    };
    let keys = [
        key("alice", "tenant = \"acme\"\n"),
        key("boss", "tenant = \"acme\"\napprove = [\"write_*\"]\n"),
        key("clerk", "tenant = \"acme\"\napprove = [\"git_*\"]\n"),
        key("mallory", "approve = [\"*\"]\n"),
    ];
    let gateway = Gateway::start(&[config(&upstream), keys.concat()].concat());
    let bearer = |name: &str| format!("Bearer key-{name}");
    let alice = bearer("alice");
    let answer = ask(&gateway, &upstream, &[("authorization", &alice)]);
    let (id, notice) = (id_of(&answer), said(&answer));
    let path = format!("/v1/approvals/{id}");
    let post = |name: &str| {
        gateway.post(&path, &[("authorization", &bearer(name))], APPROVE.as_bytes()).status
    };
    for (name, seen) in [("alice", 1), ("boss", 1), ("clerk", 0), ("mallory", 0)] {
        let header = bearer(name);
        let header = [("authorization", header.as_str())];
        let listed = gateway.get("/v1/approvals", &header).ok().json();
        assert_eq!(items_at(&listed, "/data").len(), seen, "{name}");
        assert_eq!(gateway.get(&path, &header).status, if seen == 1 { 200 } else { 404 }, "{name}");
    }
    assert_eq!(gateway.get(&path, &[]).status, 401);
    assert_eq!([post("alice"), post("clerk"), post("mallory")], [403, 404, 404]);
    assert_eq!(post("boss"), 200);
    // Another key of the tenant does not continue the run of alice, although it knows the text.
    upstream.then(whole("No.", &[]));
    let boss = bearer("boss");
    let headers = [WANTED, ("authorization", boss.as_str())];
    let other = gateway.post(CHAT, &headers, next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&other), "No.");
    assert!(!gateway.file("新.txt").exists());
    upstream.then(whole("Written.", &[]));
    let headers = [WANTED, ("authorization", alice.as_str())];
    let done = gateway.post(CHAT, &headers, next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&done), "Written.");
    assert!(gateway.file("新.txt").exists());
    // The ledger is written in the background.
    let entry = until("the entry of the answer", || {
        let ledger = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .args(["ledger", "show", "--kind", "approval", "--json"])
            .args(["--data", gateway.data().to_str().unwrap()])
            .output()
            .unwrap();
        Json::parse(String::from_utf8(ledger.stdout).unwrap().trim()).ok()
    });
    assert_eq!(text_at(&entry, "/caller"), "boss");
    assert_eq!(text_at(&entry, "/approval"), id);
    assert_eq!(at(&entry, "/approved"), Json::Bool(true));
}

#[test]
fn pages_of_approvals_follow_each_other() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let mut ids: Vec<String> = (0..3).map(|_| id_of(&ask(&gateway, &upstream, &[]))).collect();
    let page = |query: &str| {
        let listed = gateway.get(&format!("/v1/approvals{query}"), &[]).ok().json();
        let data = items_at(&listed, "/data");
        let ids: Vec<String> = data.iter().map(|own| text_at(own, "/id")).collect();
        (ids, at(&listed, "/has_more") == Json::Bool(true))
    };
    let (mut found, more) = page("?limit=2");
    assert!(found.len() == 2 && more);
    let (rest, more) = page(&format!("?limit=2&after={}", found[1]));
    assert!(rest.len() == 1 && !more);
    gateway.ask_json(&format!("/v1/approvals/{}", found[1]), APPROVE).ok();
    assert_eq!(page(&format!("?after={}", found[1])).0, rest, "a page may be answered");
    found.extend(rest);
    found.sort();
    ids.sort();
    assert_eq!(found, ids);
    for query in ["?limit=0", "?limit=101", "?limit=x", "?after=apr_none"] {
        assert_eq!(gateway.get(&format!("/v1/approvals{query}"), &[]).status, 400, "{query}");
    }
}

#[test]
fn the_command_line_lists_and_answers() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    assert_eq!(approvals(&gateway, &[]), (true, "no approval waits\n".to_owned()));
    let answer = ask(&gateway, &upstream, &[]);
    let (id, notice) = (id_of(&answer), said(&answer));
    let (_, listed) = approvals(&gateway, &["list"]);
    assert!(listed.starts_with("ID ") && listed.contains(&id) && listed.contains("新.txt"));
    let (_, line) = approvals(&gateway, &["--json"]);
    assert_eq!(text_at(&Json::parse(line.trim()).unwrap(), "/id"), id);
    let (done, text) = approvals(&gateway, &["show", "apr_none"]);
    assert!(!done && text.contains("there is no approval"), "{text}");
    let (done, text) = approvals(&gateway, &["approve", &id]);
    assert!(done && text.contains("\"by\": \"operator\""), "{text}");
    let (done, text) = approvals(&gateway, &["reject", &id]);
    assert!(!done && text.contains("already answered: approved"), "{text}");
    upstream.then(whole("Written.", &[]));
    let done = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&done), "Written.");
    assert!(gateway.file("新.txt").exists());
    assert!(approvals(&gateway, &["list", "--all"]).1.contains("approved"));
}

#[test]
fn a_failed_model_after_the_approved_call_does_not_repeat_it() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let answer = ask(&gateway, &upstream, &[]);
    let notice = said(&answer);
    gateway.ask_json(&format!("/v1/approvals/{}", id_of(&answer)), APPROVE).ok();
    upstream.then(crate::gateway::Reply::json(500, r#"{"error":{"message":"no"}}"#));
    let failed = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes());
    assert_ne!(failed.status, 200);
    assert!(gateway.file("新.txt").exists());
    std::fs::remove_file(gateway.file("新.txt")).unwrap();
    let gateway = gateway.crash(&config(&upstream));
    upstream.then(whole("Written.", &[]));
    let done = gateway.post(CHAT, &[WANTED], next_body(&notice, false).as_bytes()).ok();
    assert_eq!(said(&done), "Written.");
    assert!(!gateway.file("新.txt").exists(), "the call ran once");
    let outcomes = of_role(&upstream.last().json(), "tool");
    assert_eq!(outcomes.len(), 1);
}

#[test]
fn calls_of_one_turn_are_answered_one_by_one() {
    let both = [
        call(0, "call_a", "write_file", r#"{"path":"a.txt","content":"x"}"#),
        call(1, "call_b", "write_file", r#"{"path":"b.txt","content":"x"}"#),
    ];
    let upstream = Upstream::start([whole("", &both)]);
    let gateway = Gateway::start(&config(&upstream));
    let named = [WANTED, ("toolwright-conversation", "thread-1")];
    let go_on = || gateway.post(CHAT, &named, question(false, "").as_bytes()).ok();
    let answer = go_on();
    assert!(said(&answer).starts_with("These calls wait"), "{}", said(&answer));
    let ids = id_of(&answer);
    let (first, second) = ids.split_once(", ").unwrap();
    gateway.ask_json(&format!("/v1/approvals/{second}"), APPROVE).ok();
    let answer = go_on();
    assert_eq!(id_of(&answer), first, "the other one still waits");
    assert!(!gateway.file("a.txt").exists() && gateway.file("b.txt").exists());
    assert_eq!(upstream.received().len(), 1, "the model waits for both");
    gateway.ask_json(&format!("/v1/approvals/{first}"), r#"{"answer":"reject"}"#).ok();
    upstream.then(whole("One of two.", &[]));
    assert_eq!(said(&go_on()), "One of two.");
    assert!(!gateway.file("a.txt").exists());
    let outcomes = of_role(&upstream.last().json(), "tool");
    let texts: Vec<String> = outcomes.iter().map(|own| text_at(own, "/content")).collect();
    assert!(texts[0].contains("did not get it") && texts[1].contains("b.txt"), "{texts:?}");
}

#[test]
fn what_the_user_says_while_a_call_waits_reaches_the_model() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let answer = ask(&gateway, &upstream, &[]);
    let (id, notice) = (id_of(&answer), Json::from(said(&answer)).compact());
    let history = |more: &str| {
        format!(
            r#"{{"model":"up/gpt-x","messages":[{{"role":"user","content":"What is here?"}},{{"role":"assistant","content":{notice}}},{{"role":"user","content":"In capitals."}}{more}]}}"#
        )
    };
    let again = gateway.post(CHAT, &[WANTED], history("").as_bytes()).ok();
    assert_eq!(id_of(&again), id);
    gateway.ask_json(&format!("/v1/approvals/{id}"), APPROVE).ok();
    upstream.then(whole("Written.", &[]));
    let more = format!(
        r#",{{"role":"assistant","content":{notice}}},{{"role":"user","content":"Go on."}}"#
    );
    gateway.post(CHAT, &[WANTED], history(&more).as_bytes()).ok();
    let users = of_role(&upstream.last().json(), "user");
    let users: Vec<String> = users.iter().map(|own| text_at(own, "/content")).collect();
    assert_eq!(users, ["What is here?", "In capitals.", "Go on."]);
}

#[test]
fn a_retry_continues_the_run_of_its_own_conversation() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let go_on = |conversation: &str, attempt: &str, reply: &str| {
        upstream.then(whole(reply, &[]));
        let headers = [
            WANTED,
            ("toolwright-conversation", conversation),
            ("x-stainless-retry-count", attempt),
        ];
        said(&gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok())
    };
    assert_eq!(go_on("user-1", "0", "For one."), "For one.");
    assert_eq!(go_on("user-2", "0", "For two."), "For two.");
    assert_eq!(go_on("user-1", "1", "For one again."), "For one.");
}

#[test]
fn a_run_at_its_limits_does_not_block_its_conversation() {
    let upstream = Upstream::start([]);
    let limited = [&config(&upstream), "max_turns = 1\n"].concat();
    let gateway = Gateway::start(&limited);
    let named = ("toolwright-conversation", "thread-1");
    let answer = ask(&gateway, &upstream, &[named]);
    gateway.ask_json(&format!("/v1/approvals/{}", id_of(&answer)), APPROVE).ok();
    let headers = [WANTED, named];
    let failed = gateway.post(CHAT, &headers, question(false, "").as_bytes());
    assert_eq!(failed.status, 400, "{}", failed.text());
    assert!(failed.text().contains("write_file"), "it names the effect: {}", failed.text());
    upstream.then(whole("A new run.", &[]));
    let next = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(said(&next), "A new run.");
}

#[test]
fn a_retry_of_an_earlier_request_leaves_a_later_run_of_the_conversation_alone() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let named = ("toolwright-conversation", "thread-1");
    let keyed = [named, ("idempotency-key", "order-1")];
    let approve = |answer: &Answer| {
        gateway.ask_json(&format!("/v1/approvals/{}", id_of(answer)), APPROVE).ok();
    };
    let go_on = || gateway.post(CHAT, &[WANTED, named], question(false, "").as_bytes()).ok();
    approve(&ask(&gateway, &upstream, &keyed));
    upstream.then(whole("Written.", &[]));
    assert_eq!(said(&go_on()), "Written.");
    std::fs::remove_file(gateway.file("新.txt")).unwrap();

    let later = ask(&gateway, &upstream, &[named]);
    upstream.then(whole("Written before.", &[]));
    let headers = [&keyed[..], &[WANTED]].concat();
    let retried = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(said(&retried), "Written before.");
    assert!(!gateway.file("新.txt").exists(), "the call of the first run ran once");
    approve(&later);
    upstream.then(whole("Written again.", &[]));
    assert_eq!(said(&go_on()), "Written again.");
    assert!(gateway.file("新.txt").exists());
}

#[test]
fn a_client_that_moved_to_another_tenant_leaves_its_runs_behind() {
    let upstream = Upstream::start([]);
    let hash = KeyHash::of("key-alice");
    let of_tenant = |tenant: &str| {
        let key = format!("[keys.alice]\nhash = \"{hash}\"\ntenant = \"{tenant}\"\n");
        [config(&upstream), key + "approve = [\"*\"]\n"].concat()
    };
    let gateway = Gateway::start(&of_tenant("acme"));
    let alice = [("authorization", "Bearer key-alice"), ("toolwright-conversation", "thread-1")];
    let id = id_of(&ask(&gateway, &upstream, &alice));
    let gateway = gateway.restart(&of_tenant("other"));
    let path = format!("/v1/approvals/{id}");
    assert_eq!(gateway.post(&path, &alice[..1], APPROVE.as_bytes()).status, 404);
    upstream.then(whole("A new run.", &[]));
    let headers = [&alice[..], &[WANTED]].concat();
    let next = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(said(&next), "A new run.");
    assert_eq!(gateway.get(&path, &alice[..1]).status, 404);
}

#[test]
fn a_notice_in_place_of_json_is_a_valid_stream() {
    let upstream = Upstream::start([streamed("{}", &write())]);
    let gateway = Gateway::start(&config(&upstream));
    let body = r#"{"model":"up/gpt-x","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"Hi"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}"#;
    let answer = gateway.post("/v1/messages", &[WANTED], body.as_bytes()).ok();
    let events = answer.events();
    let starts = events.iter().filter(|own| text_at(own, "/type") == "content_block_start");
    let starts: Vec<String> = starts.map(|own| at(own, "/index").compact()).collect();
    assert_eq!(starts, ["0"], "{}", answer.text());
    let texts = events.iter().map(|own| at(own, "/delta/text"));
    let text: String = texts.filter_map(|own| own.as_str().map(str::to_owned)).collect();
    assert!(text.starts_with("This call waits"), "{text}");
}

#[test]
fn a_notice_and_the_text_before_it_are_one_text() {
    let upstream = Upstream::start([whole("I will write it.", &write())]);
    let gateway = Gateway::start(&config(&upstream));
    let path = "/mistral/v1/chat/completions";
    let answer = gateway.post(path, &[WANTED], question(false, "").as_bytes()).ok();
    assert!(said(&answer).starts_with("I will write it.\n\nThis call waits"), "{}", answer.text());
}

#[test]
fn an_answer_that_the_ledger_cannot_record_does_not_count() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&config(&upstream));
    let id = id_of(&ask(&gateway, &upstream, &[]));
    let gateway = gateway.restart(&config(&upstream));
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(gateway.data()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    for end in ["", "-wal", "-shm"] {
        let path = copy.path().join(format!("ledger.sqlite{end}"));
        std::fs::write(path, "not a database".repeat(1000)).unwrap();
    }
    let (done, text) = approvals_in(copy.path(), &["approve", &id]);
    assert!(!done && text.contains("ledger.sqlite"), "{text}");
    let (_, shown) = approvals_in(copy.path(), &["show", &id]);
    assert!(shown.contains("\"pending\""), "{shown}");
}

#[test]
fn nobody_on_a_network_approves_without_a_key() {
    let upstream = Upstream::start([]);
    let open = ["listen = \"0.0.0.0:0\"\nopen = true\n", &config(&upstream)].concat();
    let gateway = Gateway::start_as_configured(&open);
    let id = id_of(&ask(&gateway, &upstream, &[]));
    let path = format!("/v1/approvals/{id}");
    let refused = gateway.ask_json(&path, APPROVE);
    assert_eq!(refused.status, 403, "{}", refused.text());
    let (done, text) = approvals(&gateway, &["approve", &id, "--as", "root"]);
    assert!(done && text.contains("\"by\": \"root\""), "{text}");
}
