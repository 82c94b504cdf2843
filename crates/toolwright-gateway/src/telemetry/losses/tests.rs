//! Tests of isolation, limits and the header.

use toolwright_core::loss::Severity;
use toolwright_dialects::dialect::WireRequest;
use toolwright_dialects::dialect::lookup;
use toolwright_dialects::translate::{Options, Translator};

use super::*;

/// The report of a translated request with this many lossy tools.
fn report(tools: usize, name: &str) -> Report {
    let tool = format!(
        r#"{{"name":"{name}","input_schema":{{"type":"object"}},"cache_control":{{"type":"ephemeral"}}}}"#
    );
    let body = format!(
        r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"hi"}}],"tools":[{}]}}"#,
        vec![tool; tools].join(",")
    );
    let (from, to) = (lookup("anthropic").unwrap(), lookup("gemini").unwrap());
    let wire = WireRequest {
        path: "/v1/messages".to_owned(),
        headers: Vec::new(),
        body: Json::parse(&body).unwrap(),
    };
    let report = Translator::new(from, to, &Options::default()).request(wire).unwrap().report;
    assert!(report.losses.len() >= tools, "{:?}", report.losses);
    report
}

fn lost(id: RequestId, client: &str, request: Report) -> Lost {
    Lost {
        id,
        client: Caller::new(client),
        from: Dialect::Anthropic,
        to: Some(Dialect::Gemini),
        request,
        response: Report::default(),
    }
}

#[test]
fn a_report_is_read_by_its_client_and_nobody_else() {
    let (losses, id) = (Losses::new(10), RequestId::random());
    let request = report(2, "weather");
    losses.insert(lost(id, "alice", request.clone()));
    let found = losses.find(id, &Caller::new("alice")).unwrap();
    assert_eq!(found.get("request_id").and_then(Json::as_str), Some(id.to_string().as_str()));
    assert_eq!(found.get("dialect").and_then(Json::as_str), Some("anthropic"));
    assert_eq!(found.get("upstream_dialect").and_then(Json::as_str), Some("gemini"));
    assert_eq!(found.get("request"), Some(&request.to_json()));
    assert_eq!(losses.find(id, &Caller::new("bob")), None);
    assert_eq!(losses.find(id, &Caller::new("alice").with_tenant("other")), None);
    assert_eq!(losses.find(RequestId::random(), &Caller::new("alice")), None);
}

#[test]
fn what_is_told_later_replaces_what_was_told_before() {
    let (losses, id) = (Losses::new(10), RequestId::random());
    losses.insert(lost(id, "alice", report(1, "a")));
    let both = Lost { response: report(1, "b"), ..lost(id, "alice", report(1, "a")) };
    losses.insert(both.clone());
    assert_eq!(losses.len(), 1);
    assert_eq!(losses.find(id, &Caller::new("alice")), Some(both.to_json()));
}

#[test]
fn the_oldest_reports_leave() {
    let losses = Losses::new(3);
    let ids: Vec<RequestId> = (0..5).map(|_| RequestId::random()).collect();
    for id in &ids {
        losses.insert(lost(*id, "alice", Report::default()));
    }
    let kept: Vec<bool> =
        ids.iter().map(|id| losses.find(*id, &Caller::new("alice")).is_some()).collect();
    assert_eq!(kept, [false, false, true, true, true]);
    let none = Losses::new(0);
    none.insert(lost(ids[0], "alice", Report::default()));
    assert!(none.is_empty());
}

#[test]
fn large_reports_take_bounded_memory() {
    let (losses, request) = (Losses::new(10_000), report(2_000, "weather"));
    let weight = lost(RequestId::random(), "alice", request.clone()).weight();
    for _ in 0..(2 * WEIGHT / weight) {
        losses.insert(lost(RequestId::random(), "alice", request.clone()));
    }
    let reports = losses.reports.lock();
    assert!(reports.bytes() <= WEIGHT);
    assert_eq!(reports.bytes(), reports.len() * weight);
    assert!(reports.len() >= WEIGHT / weight - 1);
}

#[test]
fn the_header_has_the_count_the_major_ones_and_the_gravest_path() {
    let none = Report::default();
    assert_eq!(value(&none, &none), None);
    let mut report = report(3, "weather");
    let told = value(&report, &none).unwrap();
    assert_eq!(value(&none, &report).unwrap(), told);
    let first = &report.losses[0].path;
    assert_eq!(told.to_str().unwrap(), format!("{}; major=0; first={first}", report.losses.len()));
    report.losses.truncate(1);
    for (path, told) in [
        ("", "1; major=0; first=/"),
        ("/tools/0/strict", "1; major=0; first=/tools/0/strict"),
        ("/a b;c%/\"\r\n", "1; major=0; first=/a%20b%3Bc%25/%22%0D%0A"),
        ("/天气", "1; major=0; first=/%E5%A4%A9%E6%B0%94"),
        ("/a,b~1c", "1; major=0; first=/a%2Cb~1c"),
    ] {
        report.losses[0].path = path.to_owned();
        assert_eq!(value(&report, &none).unwrap().to_str().unwrap(), told);
        assert_eq!(value(&report, &report).unwrap().to_str().unwrap()[1..], told[1..]);
    }
    // A major loss of the response precedes a minor one of the request.
    let mut graver = report.clone();
    graver.losses[0].loss.severity = Severity::Major;
    graver.losses[0].path = "/choices/0".to_owned();
    let told = "2; major=1; first=/choices/0";
    assert_eq!(value(&report, &graver).unwrap().to_str().unwrap(), told);
    assert_eq!(value(&graver, &report).unwrap().to_str().unwrap(), told);
}

#[test]
fn the_header_is_bounded() {
    let mut report = report(1, "weather");
    for path in ["/a".repeat(100_000), "/天".repeat(100_000), "a".repeat(257)] {
        report.losses[0].path = path;
        let told = value(&report, &Report::default()).unwrap();
        assert!(told.len() <= 300, "{}", told.len());
        assert!(told.to_str().unwrap().ends_with("%E2%80%A6"));
    }
    report.losses[0].path = "a".repeat(256);
    assert!(value(&report, &Report::default()).unwrap().to_str().unwrap().ends_with("aaa"));
}
