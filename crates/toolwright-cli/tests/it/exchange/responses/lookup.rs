//! Stored responses, retrieved, listed and deleted.

use super::*;

#[test]
fn a_response_is_retrieved_as_it_was_answered_and_deleted_once() {
    for stream in [false, true] {
        let reply = if stream { streamed("Hello.") } else { said("Hello.") };
        let upstream = Upstream::start([reply, said("Next.")]);
        let gateway = Gateway::start(&claude(&upstream));
        let more = format!(r#","stream":{stream},"metadata":{{"a":"b"}}"#);
        let answer = ask(&gateway, "\"Hi.\"", &more).ok();
        let response =
            if stream { at(answer.events().last().unwrap(), "/response") } else { answer.json() };
        let id = text_at(&response, "/id");
        let path = format!("{PATH}/{id}");
        let found = gateway.get(&format!("{path}?include=message.output_text.logprobs"), &[]).ok();
        assert_eq!(found.json(), response);
        assert_eq!(found.header("content-type"), Some("application/json"));
        let next = id_of(&ask(&gateway, "\"So?\"", &continues(&id)).ok());

        let answer = gateway.get(&format!("{path}?stream=true"), &[]);
        assert_eq!(answer.status, 400, "{}", answer.text());
        let answer = gateway.ask("POST", &format!("{path}/cancel"), &[], b"").answer();
        assert_eq!(answer.status, 400, "{}", answer.text());

        let deleted = gateway.ask("DELETE", &path, &[], b"").answer().ok().json();
        assert_eq!(text_at(&deleted, "/id"), id);
        assert_eq!(at(&deleted, "/deleted"), Json::from(true));
        let answer = gateway.ask("DELETE", &path, &[], b"").answer();
        assert_eq!(answer.status, 404);
        let error = answer.json();
        let message = format!("Response with id '{id}' not found.");
        assert_eq!(text_at(&error, "/error/message"), message);
        assert_eq!(text_at(&error, "/error/type"), "invalid_request_error");
        // A deleted response is not available to later conversations.
        is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&next)), &next);
        gateway.get(&format!("{PATH}/{next}"), &[]).ok();
        assert_eq!(gateway.get(&format!("{PATH}/{next}/input_items"), &[]).status, 404);
    }
}

#[test]
fn input_items_are_listed_in_pages() {
    let upstream = Upstream::start([said("One."), said("Two.")]);
    let gateway = Gateway::start(&claude(&upstream));
    let input = r#"[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi."}]"#;
    let first = id_of(&ask(&gateway, input, "").ok());
    let second = id_of(&ask(&gateway, "\"Next.\"", &continues(&first)).ok());
    let list =
        |query: &str| gateway.get(&format!("{PATH}/{second}/input_items{query}"), &[]).ok().json();
    let texts = |page: &Json| -> Vec<String> {
        let items = items_at(page, "/data");
        items.iter().map(|item| text_at(item, "/content/0/text")).collect()
    };
    let all = list("?order=asc");
    assert_eq!(texts(&all), ["Be brief.", "Hi.", "One.", "Next."]);
    assert_eq!(text_at(&all, "/object"), "list");
    assert_eq!(at(&all, "/has_more"), Json::from(false));
    let ids: Vec<String> =
        items_at(&all, "/data").iter().map(|item| text_at(item, "/id")).collect();
    assert!(ids.iter().all(|id| id.starts_with("msg_")), "{ids:?}");
    assert_eq!(texts(&list("")), ["Next.", "One.", "Hi.", "Be brief."]);

    let page = list("?limit=2&include=x");
    assert_eq!(texts(&page), ["Next.", "One."]);
    assert_eq!(at(&page, "/has_more"), Json::from(true));
    assert_eq!(text_at(&page, "/first_id"), ids[3]);
    assert_eq!(text_at(&page, "/last_id"), ids[2]);
    let page = list(&format!("?limit=2&after={}", ids[2]));
    assert_eq!(texts(&page), ["Hi.", "Be brief."]);
    assert_eq!(at(&page, "/has_more"), Json::from(false));
    let page = list(&format!("?order=asc&after={}", ids[3]));
    assert_eq!(texts(&page), Vec::<String>::new());
    assert_eq!(at(&page, "/first_id"), Json::Null);
    for query in ["?limit=0", "?limit=101", "?limit=x", "?order=up", "?after=msg_none"] {
        let answer = gateway.get(&format!("{PATH}/{second}/input_items{query}"), &[]);
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
}
