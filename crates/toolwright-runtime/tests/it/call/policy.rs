//! Policies: every kind of rule, in code and as a document.

use toolwright_runtime::call::Rule;
use toolwright_runtime::call::policy::{Policy, Test, Verdict};
use toolwright_runtime::{Caller, Session};
use toolwright_testing::tools::{call, done, echo, json, kind, text, toolbox};

const DOCUMENT: &str = r#"{
    "default": "deny",
    "rules": [
        {"effect": "deny", "tools": ["pay"], "arguments": [{"path": "/amount", "equals": 13}]},
        {"effect": "ask", "tools": ["pay"], "arguments": [{"path": "/currency", "one_of": ["EUR", "USD"]}], "reason": "Money moves."},
        {"effect": "allow", "tools": ["pay"], "arguments": [{"path": "/currency", "absent": true}]},
        {"effect": "allow", "tools": ["read_*"], "tenants": ["acme"]},
        {"effect": "allow", "tools": ["open"], "arguments": [{"path": "/path", "prefix": "docs/"}]},
        {"effect": "allow", "tools": ["open_all"], "arguments": [{"path": "/paths/*", "glob": "*.txt"}]},
        {"effect": "deny", "tools": ["ban_any"], "arguments": [{"path": "/paths/*", "glob": "*.key"}]},
        {"effect": "allow", "tools": ["ban_any"], "arguments": [{"path": "/paths", "absent": false}]},
        {"effect": "allow", "callers": ["root", "admin-?"]}
    ]
}"#;

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = Policy::from_json(&json(DOCUMENT)).unwrap();
    let bob = Caller::new("bob");
    for (tool, arguments, wanted) in [
        ("pay", r#"{"amount": 13}"#, Verdict::Deny),
        // The spelling of the number does not matter.
        ("pay", r#"{"amount": 13.0}"#, Verdict::Deny),
        ("pay", r#"{"amount": 1.3e1, "currency": "EUR"}"#, Verdict::Deny),
        ("pay", r#"{"amount": 12, "currency": "EUR"}"#, Verdict::Ask),
        ("pay", r#"{"amount": 12}"#, Verdict::Allow),
        ("pay", r#"{"amount": 12, "currency": "XTS"}"#, Verdict::Deny),
        ("open", r#"{"path": "docs/a"}"#, Verdict::Allow),
        ("open", r#"{"path": "src/a"}"#, Verdict::Deny),
        ("open", r#"{"path": ["docs/a"]}"#, Verdict::Deny),
        ("open", "{}", Verdict::Deny),
        ("open_all", r#"{"paths": ["a.txt", "b.txt"]}"#, Verdict::Allow),
        ("open_all", r#"{"paths": ["a.txt", "b.key"]}"#, Verdict::Deny),
        ("open_all", r#"{"paths": []}"#, Verdict::Deny),
        ("ban_any", r#"{"paths": ["a.txt", "b.key"]}"#, Verdict::Deny),
        ("ban_any", r#"{"paths": ["a.txt"]}"#, Verdict::Allow),
        ("read_file", "{}", Verdict::Deny),
    ] {
        let arguments = json(arguments);
        let judged = policy.judge(tool, &bob, arguments.as_object().unwrap());
        assert_eq!(judged, wanted, "{tool} {arguments}");
    }
    let none = json("{}");
    let none = none.as_object().unwrap();
    assert_eq!(policy.judge("read_file", &bob.clone().with_tenant("acme"), none), Verdict::Allow);
    assert_eq!(policy.judge("anything", &Caller::new("admin-1"), none), Verdict::Allow);
    assert_eq!(policy.judge("anything", &Caller::new("admin-12"), none), Verdict::Deny);
}

#[test]
fn tools_that_can_never_be_called_are_not_listed() {
    let policy = Policy::from_json(&json(DOCUMENT)).unwrap();
    let bob = Caller::new("bob");
    for (tool, shown) in [("pay", true), ("open", true), ("read_file", false), ("other", false)] {
        assert_eq!(policy.shows(tool, &bob), shown, "{tool}");
    }
    assert!(policy.shows("other", &Caller::new("root")));
}

#[test]
fn a_policy_document_is_read_back() {
    let policy = Policy::from_json(&json(DOCUMENT)).unwrap();
    assert!(policy.to_json().same(&json(DOCUMENT)), "{}", policy.to_json().pretty());
    assert_eq!(Policy::from_json(&policy.to_json()).unwrap(), policy);
    assert_eq!(Policy::from_json(&json("{}")).unwrap(), Policy::default());
}

#[test]
fn a_malformed_policy_is_refused_with_its_path() {
    for (document, path) in [
        ("[]", ""),
        (r#"{"defualt": "deny"}"#, ""),
        (r#"{"default": "Deny"}"#, "/default"),
        (r#"{"rules": [{"tools": ["a"]}]}"#, "/rules/0/effect"),
        (r#"{"rules": [{"effect": "allow"}, {"effect": "deny", "tool": ["a"]}]}"#, "/rules/1"),
        (r#"{"rules": [{"effect": "deny", "effect": "allow"}]}"#, "/rules/0"),
        (r#"{"rules": [{"effect": "allow", "tools": []}]}"#, "/rules/0/tools"),
        (r#"{"rules": [{"effect": "allow", "tools": "a"}]}"#, "/rules/0/tools"),
        (r#"{"rules": [{"effect": "allow", "callers": [7]}]}"#, "/rules/0/callers/0"),
        (
            r#"{"rules": [{"effect": "allow", "arguments": [{"path": "a", "absent": true}]}]}"#,
            "/rules/0/arguments/0/path",
        ),
        (
            r#"{"rules": [{"effect": "allow", "arguments": [{"path": "/a"}]}]}"#,
            "/rules/0/arguments/0",
        ),
        (
            r#"{"rules": [{"effect": "allow", "arguments": [{"path": "/a", "prefix": "x", "glob": "y"}]}]}"#,
            "/rules/0/arguments/0",
        ),
    ] {
        let error = Policy::from_json(&json(document)).unwrap_err();
        assert_eq!(error.path, path, "{document}: {error}");
    }
}

#[tokio::test]
async fn a_denial_by_argument_contains_only_the_authors_reason() {
    let rule = Rule::new(Verdict::Deny)
        .with_tools(["open"])
        .with_argument("/path", Test::Prefix("secret/".to_owned()))
        .with_reason("Only public files can be opened.");
    let toolbox = toolbox([echo("open")]).with_policy(Policy::default().with_rule(rule));
    let session = Session::new("run");
    let secret = call("a", "open", r#"{"path": "secret/plan"}"#);
    let denied = done(toolbox.call(&session, &secret).await);
    assert_eq!(kind(&denied), Some("not_allowed"));
    let words = text(&denied);
    assert!(words.contains("with these arguments") && words.contains("Only public files"));
    assert!(!words.contains("secret/"), "{words}");
    let public = call("b", "open", r#"{"path": "readme"}"#);
    assert_eq!(kind(&done(toolbox.call(&session, &public).await)), None);
}
