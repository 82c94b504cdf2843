//! `toolwright plan record` and `POST /v1/plans/record`: plans of runs of tools, and of responses.

use std::fs;

use toolwright_core::{Json, object};

use super::{folder, json, plan};
use crate::exchange::tools::{CHAT, TOOLS, call, question, whole};
use crate::gateway::{Gateway, Received, Reply, Upstream, fixture, items_at, table, text_at};
use crate::run::toolwright_in;

const TABLE: &str = "姓名,海拔\n张三丰,8848.86\n李寻欢,\n令狐冲,5895.03\n";

/// A model that calls a tool with the handle of the last result in the place of `HANDLE`.
fn pass_on(id: &'static str, tool: &'static str, arguments: &'static str) -> Reply {
    Reply::made(move |request: &Received| {
        let messages = items_at(&request.json(), "/messages");
        let last = text_at(messages.last().unwrap(), "/content");
        let start = last.find("tw:").unwrap();
        whole("", &[call(0, id, tool, &arguments.replace("HANDLE", &last[start..start + 35]))])
    })
}

fn model() -> Upstream {
    Upstream::start([
        whole("", &[call(0, "c1", "read_csv", r#"{"path":"table.csv"}"#)]),
        pass_on("c2", "drop_missing", r#"{"table":"HANDLE"}"#),
        pass_on("c3", "write_file", r#"{"path":"out.json","content":"HANDLE#/rows"}"#),
        whole("done", &[]),
    ])
}

#[test]
fn a_run_of_the_gateway_is_recorded_over_http_and_by_the_command() {
    let upstream = model();
    let config =
        [&table("up", "openai-chat", &upstream), TOOLS, "allow = [\"write_file\"]\n"].concat();
    let gateway = Gateway::start_with(folder(&[("table.csv", TABLE)]), &config);
    let tools = ("toolwright-tools", "read_csv,drop_missing,write_file");
    let reply = gateway.post(CHAT, &[tools], question(false, "").as_bytes()).ok();
    let id = reply.header("toolwright-request-id").unwrap().to_owned();
    let written = fs::read(gateway.file("out.json")).unwrap();
    assert!(String::from_utf8_lossy(&written).contains("令狐冲"));

    let body = object! {"run": id.as_str()}.compact();
    let recorded = gateway.post("/v1/plans/record", &[], body.as_bytes()).ok().json();
    let args =
        |step: &str| recorded.pointer(&format!("/plan/steps/{step}/args")).unwrap().compact();
    assert_eq!(args("drop_missing"), r#"{"table":{"$from":"read_csv"}}"#);
    assert_eq!(
        args("write_file"),
        r#"{"path":"out.json","content":{"$from":"drop_missing/rows"}}"#
    );
    assert_eq!(items_at(&recorded, "/notes").len(), 0, "{recorded}");

    // The command reads the folder of the running gateway.
    let data = gateway.data();
    let data = ["--data", data.to_str().unwrap()];
    let own = folder(&[("table.csv", TABLE)]);
    let command = [&["record", &id, "-o", "plan.json"], &data[..]].concat();
    let ran = plan(own.path(), &command, "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let saved = Json::parse(&fs::read_to_string(own.path().join("plan.json")).unwrap()).unwrap();
    assert_eq!(Some(&saved), recorded.get("plan"));

    // The plan does the same again, without the model.
    let asked = upstream.received().len();
    let ran = plan(own.path(), &["run", "plan.json", "--yes"], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read(own.path().join("out.json")).unwrap(), written);
    assert_eq!(upstream.received().len(), asked);

    let unknown = gateway.post("/v1/plans/record", &[], br#"{"run":"none"}"#);
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    assert_eq!(gateway.post("/v1/plans/record", &[], b"{}").status, 400);
    let unknown = plan(own.path(), &[&["record", "none"], &data[..]].concat(), "");
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("there is no finished run 'none'"), "{}", unknown.stderr);
}

#[test]
fn the_calls_of_a_response_become_parallel_steps() {
    let response = fixture("anthropic/synthetic/matrix_response.json");
    let tools = r#"[{"name":"convert_currency","input_schema":{"type":"object","properties":{"amount":{},"from":{},"to":{}}}},
        {"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}}}}]"#;
    let folder = folder(&[("tools.json", tools)]);
    fs::write(folder.path().join("response.json"), &response).unwrap();
    let arguments = ["record", "--calls", "response.json", "--tools", "tools.json"];
    let recorded = json(&plan(folder.path(), &arguments, ""));
    let expected = r#"{"tool":"get_weather","args":{"city":"Paris","unit":"celsius"}}"#;
    assert_eq!(recorded.pointer("/steps/get_weather").unwrap().compact(), expected);
    let checked =
        plan(folder.path(), &["check", "-", "--tools", "tools.json"], &recorded.compact());
    assert_eq!(checked.text().trim(), "plan is valid: 2 steps, 2 edges");

    let gateway = Gateway::start(TOOLS);
    let body = object! {"calls": Json::parse_bytes(&response).unwrap()}.compact();
    let over_http = gateway.post("/v1/plans/record", &[], body.as_bytes()).ok().json();
    assert!(over_http.pointer("/plan/steps/convert_currency").is_some(), "{over_http}");
    let refused = gateway.post("/v1/plans/record", &[], br#"{"calls":{"content":"none"}}"#);
    assert_eq!(refused.status, 400);

    let none = plan(folder.path(), &["record", "--calls", "tools.json"], "");
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("no dialect finds a call in it"), "{}", none.stderr);
    assert_eq!(plan(folder.path(), &["record"], "").code, 2);
}

#[test]
fn ask_writes_its_calls_as_a_plan() {
    let folder = folder(&[("table.csv", TABLE)]);
    let arguments = ["ask", "read table.csv and drop missing rows", "--record", "plan.json"];
    let asked = toolwright_in(folder.path(), &arguments, b"");
    assert_eq!((asked.code, asked.stderr.as_str()), (0, ""));
    let ran = json(&plan(folder.path(), &["run", "plan.json"], ""));
    let rows = ran.pointer("/drop_missing/rows").unwrap().compact();
    assert_eq!(rows, r#"[["张三丰",8848.86],["令狐冲",5895.03]]"#);
    let nothing = toolwright_in(folder.path(), &["ask", "hello", "--record", "none.json"], b"");
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.contains("no successful call"), "{}", nothing.stderr);
}
