//! The gateway is killed, or its client disconnects, around an effect. `git` is a script here,
//! which stops before and after its effect until the test continues it.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tempfile::TempDir;
use toolwright_core::object;

use super::super::tools::{CHAT, question};
use super::{KEY, WRITE, answer, config, effects, post, said, writes};
use crate::gateway::{Asking, Gateway, Reply, Upstream, until};
use crate::mcp::send_at;

const COMMIT: (&str, &str) = ("toolwright-tools", "git_commit");

/// Implements the commands that `git_commit` uses, and has an effect in place of a commit.
const GIT: &str = r#"#!/bin/sh
case " $* " in
*" commit "*)
    : > begun
    while [ -e stop-before ]; do sleep 0.01; done
    echo effect >> effects
    while [ -e stop-after ]; do sleep 0.01; done ;;
*" diff "*) printf 'file\0' ;;
*" rev-parse "*) echo 1234567 ;;
esac
"#;

/// A model that commits.
fn commits(number: usize) -> Reply {
    Reply::made(move |received| {
        let message = format!(r#"{{"message":"in words {number}"}}"#);
        answer(received, number, "git_commit", &message)
    })
}

/// A repository in which `git` stops at a given point.
fn repository(stop: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let git = folder.path().join("bin/git");
    std::fs::create_dir_all(folder.path().join(".git")).unwrap();
    std::fs::create_dir_all(git.parent().unwrap()).unwrap();
    std::fs::write(&git, GIT).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join(stop), "").unwrap();
    folder
}

fn commit(gateway: &Gateway) -> Asking {
    gateway.ask("POST", CHAT, &[COMMIT, KEY], question(false, "").as_bytes())
}

#[test]
fn a_kill_between_an_effect_and_its_record_is_detected_after_the_restart() {
    for (stop, most) in [("stop-before", 0), ("stop-after", 1)] {
        let upstream = Upstream::start((0..4).map(commits));
        let gateway = Gateway::start_with(repository(stop), &config(&upstream));
        let asking = commit(&gateway);
        until("the effect", || gateway.file("begun").exists().then_some(()));
        until("all effects", || (effects(&gateway) == most).then_some(()));
        let gateway = gateway.crash(&config(&upstream));
        drop(asking);
        until("the log", || {
            let log = gateway.log();
            (log.contains("git_commit") && log.contains("its effect is unknown")).then_some(())
        });
        let answer = commit(&gateway).answer().ok();
        assert!(said(&answer, false).contains("told in way 1"), "{}", answer.text());
        let told = upstream.last().text();
        assert!(told.contains("call_0") && told.contains("it is unknown whether"), "{told}");
        assert_eq!((effects(&gateway), upstream.received().len()), (most, 2));
    }
}

/// Commits over MCP.
fn mcp_commit(gateway: &Gateway, key: (&str, &str)) -> Asking {
    let arguments = object! {"message": "in words"};
    let params = object! {"name": "git_commit", "arguments": arguments};
    send_at(gateway, "/mcp", &[key], "tools/call", params)
}

#[test]
fn a_kill_during_an_effect_over_mcp_is_detected_as_well() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start_with(repository("stop-after"), &config(&upstream));
    let asking = mcp_commit(&gateway, KEY);
    until("the effect", || (effects(&gateway) == 1).then_some(()));
    let gateway = gateway.crash(&config(&upstream));
    drop(asking);
    until("the log", || {
        let log = gateway.log();
        (log.contains("git_commit") && log.contains("its effect is unknown")).then_some(())
    });
    std::fs::remove_file(gateway.file("stop-after")).unwrap();
    for _ in 0..2 {
        let repeated = mcp_commit(&gateway, KEY).answer().ok().text();
        assert!(repeated.contains("it is unknown whether"), "{repeated}");
        assert_eq!(effects(&gateway), 1);
    }
    // Another call, whose outcome is recorded.
    for _ in 0..2 {
        let done = mcp_commit(&gateway, (KEY.0, "another")).answer().ok().text();
        assert!(done.contains("1234567"), "{done}");
        assert_eq!(effects(&gateway), 2);
    }
}

#[test]
fn a_kill_after_the_record_resumes_with_the_recorded_outcome() {
    let (word, held) = Reply::after(Reply::json(500, "{}"));
    let upstream = Upstream::start([writes(0), held, writes(2), writes(3)]);
    let gateway = Gateway::start(&config(&upstream));
    let asking = gateway.ask("POST", CHAT, &[WRITE, KEY], question(false, "").as_bytes());
    upstream.until_received(2);
    let gateway = gateway.crash(&config(&upstream));
    drop((asking, word));
    let answer = post(&gateway, &[KEY], &question(false, "")).ok();
    assert!(said(&answer, false).contains("told in way 2"), "{}", answer.text());
    assert!(upstream.last().text().contains("Wrote"), "{}", upstream.last().text());
    assert_eq!((effects(&gateway), upstream.received().len()), (1, 3));
}

#[test]
fn a_call_continues_after_a_disconnect_and_the_retry_has_its_outcome() {
    let upstream = Upstream::start((0..4).map(commits));
    let gateway = Gateway::start_with(repository("stop-after"), &config(&upstream));
    let asking = commit(&gateway);
    until("the effect", || (effects(&gateway) == 1).then_some(()));
    drop(asking);
    until("the client's leave", || gateway.log().contains("client_left").then_some(()));
    let again = commit(&gateway);
    std::fs::remove_file(gateway.file("stop-after")).unwrap();
    again.answer().ok();
    let told = upstream.last().text();
    assert!(told.contains("1234567") && !told.contains("it is unknown whether"), "{told}");
    assert_eq!((effects(&gateway), upstream.received().len()), (1, 2));
}

/// Kills at arbitrary times: some hundred microseconds after the model has answered.
#[test]
fn no_kill_repeats_an_effect() {
    for round in 0..16 {
        let upstream = Upstream::start((0..8).map(writes));
        let gateway = Gateway::start(&config(&upstream));
        let asking = gateway.ask("POST", CHAT, &[WRITE, KEY], question(false, "").as_bytes());
        upstream.until_received(1);
        std::thread::sleep(Duration::from_micros(700 * round));
        let gateway = gateway.crash(&config(&upstream));
        drop(asking);
        post(&gateway, &[KEY], &question(false, "")).ok();
        let told = upstream.last().text();
        let expected = if told.contains("it is unknown whether") { 0..=1 } else { 1..=1 };
        assert!(expected.contains(&effects(&gateway)), "{} effects: {told}", effects(&gateway));
    }
}
