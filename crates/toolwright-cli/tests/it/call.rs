//! `toolwright call`: one tool, from arguments to the result.

use toolwright_core::Json;

use crate::mcp::login::GuardedServer;
use crate::mcp::server;
use crate::run::{Ran, ok_in, toolwright, toolwright_in};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "第一行\nsecond\n").unwrap();
    folder
}

fn call(folder: &tempfile::TempDir, arguments: &[&str], input: &str) -> Ran {
    let mut all = vec!["call", "--root", folder.path().to_str().unwrap()];
    all.extend(arguments);
    toolwright(&all, input.as_bytes())
}

#[test]
fn a_result_goes_to_stdout() {
    let ran = call(&folder(), &["read_file", "--args", r#"{"path":"note.txt"}"#], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.text().contains("第一行\nsecond"), "{}", ran.text());
}

#[test]
fn a_long_result_is_printed_completely() {
    let folder = folder();
    let long = "第一行\n".repeat(100_000);
    std::fs::write(folder.path().join("long.txt"), &long).unwrap();
    let ran = call(&folder, &["read_file", "--args", r#"{"path":"long.txt"}"#], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text() == long, "{} bytes", ran.text().len());
}

#[test]
fn arguments_come_from_a_file_or_stdin_and_are_repaired() {
    let folder = folder();
    let file = folder.path().join("args.json");
    std::fs::write(&file, "{path: 'note.txt',}").unwrap();
    let at = format!("@{}", file.display());
    for (args, input) in [(at.as_str(), ""), ("@-", "```json\n{\"path\": \"note.txt\"}\n```")] {
        let ran = call(&folder, &["read_file", "--args", args, "--json"], input);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document = Json::parse(&ran.text()).unwrap();
        assert_eq!(document.get("success"), Some(&Json::Bool(true)));
        assert!(!document.get("changes").unwrap().as_array().unwrap().is_empty(), "{args}");
    }
}

#[test]
fn a_failure_is_printed_as_an_envelope_with_an_exit_code() {
    let folder = folder();
    for (tool, args, kind) in [
        ("read_file", r#"{"path":"none.txt"}"#, None),
        ("read_file", r#"{"path":"../note.txt"}"#, None),
        ("read_file", r#"{"file":"note.txt"}"#, Some("invalid_arguments")),
        ("read_file", r#"{"path":"no"#, Some("truncated")),
        ("reed_file", "{}", Some("unknown_tool")),
    ] {
        let ran = call(&folder, &[tool, "--args", args, "--json"], "");
        assert_eq!(ran.code, 1, "{args}");
        let document = Json::parse(&ran.text()).unwrap();
        assert_eq!(document.get("success"), Some(&Json::Bool(false)), "{args}");
        assert_eq!(document.get("tool_name").and_then(Json::as_str), Some(tool));
        assert!(document.get("error").and_then(Json::as_str).is_some_and(|text| !text.is_empty()));
        let own = document.get("error_type").and_then(Json::as_str);
        assert!(kind.is_none_or(|kind| own == Some(kind)), "{args}: {own:?}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = call(&folder, &["reed_file"], "");
    assert_eq!((ran.code, ran.text().as_str()), (1, ""));
    assert!(ran.stderr.contains("`read_file`"), "the nearest name is offered: {}", ran.stderr);
}

#[test]
fn tools_with_effects_run_only_with_an_option() {
    let folder = folder();
    let write = ["write_file", "--args", r#"{"path":"new.txt","content":"x"}"#];
    let ran = call(&folder, &write, "y\n");
    assert_eq!(ran.code, 1);
    assert!(!folder.path().join("new.txt").exists(), "a pipe is not a terminal");
    assert!(ran.stderr.contains("hint: pass --yes"), "{}", ran.stderr);
    let ran = call(&folder, &[&write[..], &["--yes"]].concat(), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(folder.path().join("new.txt").exists());
}

#[test]
fn tools_are_listed_as_definitions() {
    let ran = call(&folder(), &["--json"], "");
    let Json::Array(tools) = Json::parse(&ran.text()).unwrap() else { panic!("{}", ran.text()) };
    let find =
        |name: &str| tools.iter().find(|tool| tool.get("name").unwrap().as_str() == Some(name));
    let path = find("read_csv").unwrap().pointer("/parameters/properties/path/type");
    assert_eq!(path.and_then(Json::as_str), Some("string"));
}

#[test]
fn tools_are_listed_in_columns() {
    let folder = folder();
    let ran = call(&folder, &[], "");
    assert_eq!(call(&folder, &["--list"], "").text(), ran.text());
    assert_eq!(ran.code, 0);
    let text = ran.text();
    let column = text.lines().next().unwrap().find("EFFECT").unwrap();
    for tool in ["git_status", "read_csv", "write_file"] {
        let line = text.lines().find(|line| line.starts_with(tool)).unwrap();
        assert_eq!(line.as_bytes()[column - 1], b' ');
        assert_ne!(line.as_bytes()[column], b' ', "{line}");
    }
}

/// A folder with two MCP servers, one of which does not start, and slots between the tools of a third.
fn configured() -> tempfile::TempDir {
    let folder = folder();
    let slots = "[mcp.a.slots.read_rows]\nstore = \"table\"\npart = \"/rows\"\nreply = \"{count} rows\"\n\
                 [mcp.a.hide.count_rows]\nrows = { slot = \"table\" }";
    let config = "[tools]\nroot = \".\"\n[mcp.gone]\ncommand = [\"no-such-program\"]\n\
                  [tool_sets.mine]\ntools = [\"read_file\", \"mcp:one\"]\n"
        .to_owned()
        + &server("one", "\"plain\"", "")
        + &server("a", "\"rows\"", slots);
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    std::fs::write(folder.path().join("cities.csv"), "城市,degrees\n北京,20\n上海,\n").unwrap();
    folder
}

fn handle(text: &str) -> String {
    let at = text.find("tw:").unwrap_or_else(|| panic!("no handle: {text}"));
    text[at..at + 35].to_owned()
}

#[test]
fn a_handle_lives_from_one_call_to_the_next() {
    let folder = configured();
    let read = ok_in(folder.path(), &["call", "read_csv", "--args", r#"{"path":"cities.csv"}"#]);
    let arguments = format!(r#"{{"table":"{}"}}"#, handle(&read));
    let drop_missing = ["call", "drop_missing", "--args", &arguments];
    let cleaned = ok_in(folder.path(), &drop_missing);
    assert!(cleaned.contains("Removed 1 row"), "{cleaned}");
    let other = [&drop_missing[..], &["--conversation", "other"]].concat();
    let refused = toolwright_in(folder.path(), &other, b"");
    assert_eq!(refused.code, 1, "another conversation has other handles");
}

#[test]
fn a_slot_lives_from_one_call_to_the_next() {
    let folder = configured();
    let stored = ok_in(folder.path(), &["call", "a_read_rows", "--args", r#"{"count":7}"#]);
    assert_eq!(stored, "7 rows\n");
    let counted = ok_in(folder.path(), &["call", "a_count_rows"]);
    assert!(counted.contains('7'), "{counted}");
}

#[test]
fn tools_of_servers_and_functions_of_the_catalog_are_called() {
    let folder = configured();
    let call = |arguments: &[&str]| ok_in(folder.path(), &[&["call"], arguments].concat());
    assert_eq!(call(&["one_live"]), "called live\n");
    assert_eq!(call(&["one_live", "--use", "mcp:one"]), "called live\n");
    assert!(call(&["builtin-files/list_files"]).contains("cities.csv"));
    assert!(call(&["builtin-files@0.1.0/list_files"]).contains("cities.csv"));
    let listed = call(&["--use", "mine, builtin-git/git_log"]);
    let names: Vec<&str> =
        listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["read_file", "builtin-git/git_log", "one_live"], "{listed}");
    let refused = toolwright_in(folder.path(), &["call", "one_live", "--use", "read_file"], b"");
    assert_eq!(refused.code, 1, "only the selected tools can be called");
    for (selection, told) in [
        ("read_fil", "--use names an unknown tool, `read_fil`. Did you mean `read_file`?"),
        ("builtin-files/nope", "--use names an unknown tool, `builtin-files/nope`."),
    ] {
        let refused = toolwright_in(folder.path(), &["call", "--use", selection], b"");
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
    }
}

#[test]
fn calls_are_in_the_ledger_and_their_effects_in_the_journal() {
    let folder = configured();
    let write = ["call", "write_file", "--yes", "--args", r#"{"path":"new.txt","content":"x"}"#];
    for attempt in 0..2 {
        let ran = toolwright_in(folder.path(), &write, b"");
        assert_eq!(ran.code, attempt, "each call is another one, and a file is not replaced");
    }
    let plan = r#"{"plan":"1","steps":{"save":{"tool":"write_file","args":{"path":"p.txt","content":"y"}}}}"#;
    std::fs::write(folder.path().join("plan.json"), plan).unwrap();
    ok_in(folder.path(), &["plan", "run", "plan.json", "--yes"]);
    ok_in(folder.path(), &["ask", "write \"hello\" to the file out.txt", "--yes"]);
    ok_in(folder.path(), &["catalog", "call", "builtin-files", "list_files"]);
    let shown = ok_in(folder.path(), &["ledger", "show"]);
    let calls: Vec<String> = shown
        .lines()
        .map(|line| line.split(' ').filter(|word| !word.is_empty()).skip(2).take(4).collect())
        .map(|words: Vec<&str>| words.join(" "))
        .collect();
    let expected = [
        "local call write_file ok",
        "local call write_file failed",
        "local call write_file ok",
        "local call write_file ok",
        "open call builtin-files/list_files ok",
    ];
    assert_eq!(calls, expected, "{shown}");
    let verified = ok_in(folder.path(), &["ledger", "verify"]);
    assert!(verified.starts_with("5 entries") && !verified.contains("gap"), "{verified}");
    let journal = std::fs::read(folder.path().join(".toolwright/journal.sqlite")).unwrap();
    let count = journal.windows(10).filter(|window| window == b"write_file").count();
    assert!(count >= 4, "the journal has every effect: {count}");
}

#[test]
fn messages_are_for_people() {
    let folder = configured();
    let server = GuardedServer::start();
    let config = folder.path().join("guarded.toml");
    std::fs::write(&config, server.table("")).unwrap();
    let guarded = config.to_str().unwrap();
    let calls: [(&[&str], &str); 7] = [
        (&["read_file", "--args", r#"{"file":"note.txt"}"#], "'path' is missing"),
        (&["read_file", "--args", "hello"], "must be one JSON object"),
        (&["read_file", "--args", r#"{"path":"no"#], "its arguments end before they are complete"),
        (&["reed_file"], "Did you mean `read_file`"),
        (&["write_file", "--args", r#"{"path":"x","content":"y"}"#, "--json"], "--yes"),
        (&["s_any", "--config", guarded], "log in with: toolwright mcp login s"),
        (&["--use", "mcp:s", "--config", guarded], "log in with: toolwright mcp login s"),
    ];
    for (arguments, told) in calls {
        let ran = toolwright_in(folder.path(), &[&["call"], arguments].concat(), b"");
        let said = ran.text() + &ran.stderr;
        assert!(said.contains(told), "{arguments:?}: {said}");
        for advice in ["the user", "without it", "all the tool again", "your answer", "several"] {
            assert!(!said.contains(advice), "{arguments:?}: {said}");
        }
    }
    let plan = r#"{"plan":"1","steps":{"read":{"tool":"read_file","args":{"path":"none.txt"}},
        "save":{"tool":"write_file","args":{"path":"p.txt","content":{"$from":"read"}}}}}"#;
    std::fs::write(folder.path().join("plan.json"), plan).unwrap();
    let ran = toolwright_in(folder.path(), &["plan", "run", "plan.json"], b"");
    assert_eq!(ran.code, 1);
    assert!(!ran.stderr.contains("the user") && ran.stderr.contains("none.txt"), "{}", ran.stderr);
    let ran = toolwright_in(folder.path(), &["mcp", "test", "s", "--config", guarded], b"");
    assert!(ran.stderr.contains("log in with: toolwright mcp login s"), "{}", ran.stderr);
}
