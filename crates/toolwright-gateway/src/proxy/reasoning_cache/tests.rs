//! Tests of contents, isolation, limits and expiry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright_core::{Arguments, Call, Json, Message, Request, Role, object};
use toolwright_dialects::dialect::{self, Dialect, WireReply};
use toolwright_dialects::reasoning_cache::CachedReasoning;
use toolwright_dialects::translate::{Options, Translator};
use toolwright_runtime::store::ExpiringStore;

use super::{Bounds, ReasoningCache};

const SECOND: Duration = Duration::from_secs(1);

fn call(id: &str) -> Call {
    Call::new(id, "now", Arguments::from_text(r#"{"zone":"UTC"}"#))
}

/// The cached reasoning of a Claude reply with one call, for a client of Chat Completions.
fn kept(id: &str, signature: &str) -> Arc<CachedReasoning> {
    let (from, to) =
        (dialect::codec(Dialect::Anthropic).unwrap(), dialect::codec(Dialect::OpenaiChat).unwrap());
    let thinking = object! {"type": "thinking", "thinking": "Hm.", "signature": signature};
    let input = object! {"zone": "UTC"};
    let call = object! {"type": "tool_use", "id": id, "name": "now", "input": input};
    let body = object! {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "content": vec![thinking, call],
    };
    let options = Options::default();
    let translator = Translator::new(from, to, &options);
    translator.response(WireReply::ok(Json::Object(body))).unwrap().report.cached_reasoning.unwrap()
}

fn has(keep: &ReasoningCache, client: &str, id: &str, now: Instant) -> bool {
    keep.find(client, &call(id), now).is_some()
}

#[test]
fn a_client_finds_only_its_own_reasoning() {
    let (keep, now) = (ReasoningCache::default(), Instant::now());
    assert!(keep.is_empty() && !has(&keep, "alice", "a", now));
    keep.remember("alice", kept("a", "AA=="), now);
    assert!(has(&keep, "alice", "a", now));
    assert!(!has(&keep, "bob", "a", now) && !has(&keep, "", "a", now));
    assert!(!has(&keep, "alice", "b", now));
    assert!(keep.find("alice", &Call { id: None, ..call("a") }, now).is_none());
}

#[test]
fn a_request_gets_back_the_reasoning_of_its_client() {
    let (keep, now) = (ReasoningCache::default(), Instant::now());
    keep.remember("alice", kept("a", "AA=="), now);
    let (from, to) =
        (dialect::codec(Dialect::OpenaiChat).unwrap(), dialect::codec(Dialect::Anthropic).unwrap());
    let options = Options::default();
    let translator = Translator::new(from, to, &options);
    let turn = Message::new(Role::Assistant, vec![toolwright_core::Part::call(call("a"))]);
    let request = Request { messages: vec![turn], ..Request::default() };
    let recalled = |client| {
        let mut request = request.clone();
        keep.recall(client, &translator, &mut request, now);
        request
    };
    assert_eq!(recalled("bob"), request);
    let body = translator.send(recalled("alice")).unwrap().value.body;
    // A user turn comes first, as the vendor requires.
    assert_eq!(body.pointer("/messages/1/content/0/signature"), Some(&"AA==".into()), "{body}");
}

#[test]
fn a_later_answer_replaces_an_earlier_one_of_the_same_call() {
    let (keep, now) = (ReasoningCache::default(), Instant::now());
    keep.remember("alice", kept("a", "AA=="), now);
    let bytes = keep.bytes();
    let later = kept("a", "BB==");
    keep.remember("alice", Arc::clone(&later), now);
    assert_eq!((keep.len(), keep.bytes()), (1, bytes));
    assert_eq!(keep.find("alice", &call("a"), now), Some(later));
}

#[test]
fn what_nobody_asks_for_is_forgotten() {
    let bounds = Bounds { age: 80 * SECOND, ..Bounds::default() };
    let (keep, start) = (ReasoningCache::new(bounds), Instant::now());
    keep.remember("alice", kept("a", "AA=="), start);
    keep.remember("alice", kept("b", "AA=="), start);
    assert!(has(&keep, "alice", "a", start + 60 * SECOND));
    // The entry that was used stays.
    let later = start + 100 * SECOND;
    assert!(has(&keep, "alice", "a", later) && !has(&keep, "alice", "b", later));
    assert_eq!(keep.len(), 2);
    keep.remember("bob", kept("c", "AA=="), later);
    assert_eq!(keep.len(), 2);
    keep.remember("bob", kept("d", "AA=="), later + 200 * SECOND);
    assert_eq!(keep.len(), 1);
}

#[test]
fn the_number_of_answers_is_bounded() {
    let bounds = Bounds { answers: 3, ..Bounds::default() };
    let (keep, now) = (ReasoningCache::new(bounds), Instant::now());
    for id in ["a", "b", "c"] {
        keep.remember("alice", kept(id, "AA=="), now);
    }
    // The first was used since, the second is the oldest.
    assert!(has(&keep, "alice", "a", now + SECOND));
    keep.remember("alice", kept("d", "AA=="), now + 2 * SECOND);
    let left = ["a", "b", "c", "d"].map(|id| has(&keep, "alice", id, now + 2 * SECOND));
    assert_eq!(left, [true, false, true, true]);
    assert_eq!(keep.len(), 3);
}

#[test]
fn bytes_are_bounded_and_the_greediest_pays() {
    let bounds = Bounds { bytes: 20_000, ..Bounds::default() };
    let (keep, now) = (ReasoningCache::new(bounds), Instant::now());
    keep.remember("bob", kept("b", "AA=="), now);
    for id in 0..10_000 {
        keep.remember("alice", kept(&format!("a{id}"), &"A".repeat(1000)), now);
        assert!(keep.bytes() <= 20_000);
    }
    assert!(has(&keep, "bob", "b", now) && has(&keep, "alice", "a9999", now));
    assert!(!has(&keep, "alice", "a0", now));
    assert!((5..20).contains(&keep.len()), "{}", keep.len());
    // A reply that would evict most others is not cached.
    keep.remember("alice", kept("huge", &"A".repeat(19_000)), now);
    assert!(!has(&keep, "alice", "huge", now) && has(&keep, "alice", "a9999", now));
}

#[test]
fn many_threads_remember_and_find() {
    let (keep, now) =
        (ReasoningCache::new(Bounds { answers: 50, ..Bounds::default() }), Instant::now());
    std::thread::scope(|scope| {
        for client in ["alice", "bob", "carol"] {
            let keep = &keep;
            scope.spawn(move || {
                for id in 0..200 {
                    let id = format!("{client}{id}");
                    keep.remember(client, kept(&id, "AA=="), now);
                    assert!(!has(keep, "nobody", &id, now));
                }
            });
        }
    });
    assert_eq!(keep.len(), 50);
}

#[test]
fn an_id_that_one_answer_has_finds_a_call_whatever_its_arguments() {
    let (keep, now) = (ReasoningCache::default(), Instant::now());
    let id = "toolu_01A09q90qw90lq";
    keep.remember("alice", kept(id, "AA=="), now);
    let normalised = Call { arguments: Arguments::none(), ..call(id) };
    assert!(keep.find("alice", &normalised, now).is_some());
    assert!(keep.find("alice", &Call { name: "then".into(), ..normalised.clone() }, now).is_none());
    // A repeated call replaces the reply and leaves nothing of the earlier one.
    keep.remember("alice", kept(id, "BB=="), now);
    assert_eq!(keep.len(), 1);
    assert!(keep.find("alice", &normalised, now).is_some());
}

#[tokio::test]
async fn what_is_kept_is_read_from_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(ExpiringStore::open(folder.path().join("store.sqlite")).unwrap());
    let now = Instant::now();
    let (first, second) = (kept("a", "AA=="), kept("b", "BB=="));
    let before = ReasoningCache::default().with_store(open());
    before.remember("alice", Arc::clone(&first), now);
    before.remember("bob", Arc::clone(&second), now);
    drop(before);
    let after = ReasoningCache::default().with_store(open());
    after.load(now).await.unwrap();
    assert_eq!(after.find("alice", &call("a"), now), Some(first));
    assert_eq!(after.find("bob", &call("b"), now), Some(second));
    assert!(!has(&after, "bob", "a", now) && after.len() == 2);
}
