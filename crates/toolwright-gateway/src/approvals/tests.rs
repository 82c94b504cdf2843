//! Tests of approvals.

use std::slice::from_ref;

use toolwright_core::object;

use super::*;

fn record(id: &str) -> ApprovalRecord {
    ApprovalRecord {
        id: format!("{PREFIX}{id:0>32}"),
        tool: "write_file".to_owned(),
        arguments: object! {"path": "新.txt"},
        reason: "It changes something.".to_owned(),
        caller: Caller::new("alice").with_tenant("acme"),
        conversation: ConversationId::parse("conv_1").unwrap(),
        run: "req_1".to_owned(),
        created: 1_000,
        expires: seconds() + 60,
        answer: None,
    }
}

async fn approvals(records: &[ApprovalRecord]) -> Approvals {
    let store = Arc::new(ExpiringStore::in_memory());
    for record in records {
        store.commit(&scope(&record.caller.tenant), entry(record), LIMITS).await.unwrap();
    }
    Approvals::new(store)
}

#[test]
fn an_approval_is_read_as_it_was_written() {
    let answer = RecordedAnswer::now(Decision::Reject, Some("no".to_owned()), "bob");
    for answer in [None, Some(answer)] {
        let record = ApprovalRecord { answer, ..record("1") };
        assert_eq!(ApprovalRecord::read(&record.write()), Some(record));
    }
    let later = String::from_utf8(record("1").write()).unwrap().replace("\"v\":1", "\"v\":2");
    for bytes in [later.as_bytes(), b"{}", b"\xff", b""] {
        assert_eq!(ApprovalRecord::read(bytes), None);
    }
}

#[tokio::test]
async fn an_expired_approval_is_rejected_and_takes_no_answer() {
    let expired = ApprovalRecord { expires: 2_000, ..record("1") };
    let approvals = approvals(from_ref(&expired)).await;
    assert_eq!(expired.status(1_999), Status::Pending);
    assert_eq!(expired.status(2_000), Status::Expired);
    assert!(matches!(expired.outcome(2_000), Some(toolwright_runtime::call::Answer::Reject(_))));
    let answer = RecordedAnswer::now(Decision::Approve, None, "bob");
    let refused = approvals.answer("acme", &expired.id, answer).await;
    assert!(matches!(refused, Err(AnswerError::Expired)), "{refused:?}");
}

#[tokio::test]
async fn of_concurrent_answers_one_counts() {
    let record = record("1");
    let approvals = approvals(from_ref(&record)).await;
    let answers = (0..20).map(|number| {
        let decision = if number % 2 == 0 { Decision::Approve } else { Decision::Reject };
        let answer = RecordedAnswer::now(decision, None, format!("person-{number}"));
        approvals.answer("acme", &record.id, answer)
    });
    let answered = futures_util::future::join_all(answers).await;
    let new = answered.iter().filter(|own| matches!(own, Ok((_, true)))).count();
    let refused = answered.iter().filter(|own| matches!(own, Err(AnswerError::Answered(_))));
    assert_eq!((new, refused.count()), (1, 10));
    let unknown = RecordedAnswer::now(Decision::Approve, None, "bob");
    let other = approvals.answer("other", &record.id, unknown).await;
    assert!(matches!(other, Err(AnswerError::Unknown(_))), "{other:?}");
}

#[tokio::test]
async fn a_notice_in_the_history_names_its_conversation() {
    let record = record("ab1");
    let approvals = approvals(from_ref(&record)).await;
    let notice = notice(from_ref(&record));
    assert!(notice.contains(r#"write_file {"path":"新.txt"}"#) && notice.contains(&record.id));
    let history =
        [Message::user("hi"), Message::assistant(notice.as_str()), Message::user("go on")];
    let found = approvals.conversation(&record.caller, &history).await;
    assert_eq!(found, Some(record.conversation.clone()));
    // What a user writes is no evidence, and neither is an approval of another client.
    let copied = [Message::user(notice.as_str())];
    assert_eq!(approvals.conversation(&record.caller, &copied).await, None);
    let other = Caller::new("bob").with_tenant("acme");
    assert_eq!(approvals.conversation(&other, &history).await, None);
    let short = [Message::assistant("apr_12 and apr_世界世界世界世界世界世界世界世界世界世界世界")];
    assert_eq!(approvals.conversation(&record.caller, &short).await, None);
}

#[test]
fn long_arguments_are_cut_in_the_notice() {
    let arguments = object! {"content": "长".repeat(100_000)};
    let text = notice(&[ApprovalRecord { arguments, ..record("1") }]);
    assert!(text.len() < 3_000 && text.contains('…'), "{}", text.len());
}
