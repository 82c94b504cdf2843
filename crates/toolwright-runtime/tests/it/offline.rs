//! The offline rules: which tool, which arguments, and when none.

use toolwright_core::{Call, Json, Message, Outcome, Part, Request, Response, Tool, ToolChoice};
use toolwright_runtime::Model;
use toolwright_testing::tools::json;

fn tool(name: &str, description: &str, properties: &str, required: &str) -> Tool {
    let schema = format!(r#"{{"type":"object","properties":{properties},"required":{required}}}"#);
    Tool::function(name, json(&schema)).with_description(description)
}

fn read_only(mut tool: Tool) -> Tool {
    tool.annotations = Some(toolwright_core::object! {"readOnlyHint": true});
    tool
}

/// Tools similar to the built-in ones, and those of the original specification.
fn tools() -> Vec<Tool> {
    vec![
        read_only(tool(
            "list_files",
            "Lists the files of a directory within the root.",
            r#"{"path":{"type":"string","description":"The directory, relative to the root"}}"#,
            "[]",
        )),
        read_only(tool(
            "read_file",
            "Reads a text file within the root.",
            r#"{"path":{"type":"string","description":"The file"},
                "from_line":{"type":"integer"},"lines":{"type":"integer"}}"#,
            r#"["path"]"#,
        )),
        tool(
            "write_file",
            "Writes a text file within the root.",
            r#"{"path":{"type":"string"},"text":{"type":"string","description":"What to write"}}"#,
            r#"["path","text"]"#,
        ),
        read_only(tool("git_status", "Shows what changed in the repository.", "{}", "[]")),
        read_only(tool(
            "git_log",
            "Shows the latest commits of the repository.",
            r#"{"limit":{"type":"integer","description":"How many commits","default":10}}"#,
            "[]",
        )),
        tool(
            "git_commit",
            "Commits what was staged.",
            r#"{"message":{"type":"string","description":"The commit message"}}"#,
            r#"["message"]"#,
        ),
        read_only(tool(
            "read_csv",
            "Reads a CSV file into a table. Returns a handle that stands for the table.",
            r#"{"path":{"type":"string","description":"The file, relative to the root"}}"#,
            r#"["path"]"#,
        )),
        read_only(tool(
            "drop_missing",
            "Removes the rows of a table in which a cell is missing.",
            r#"{"table":{"description":"The table","anyOf":[{"type":"object"},
                {"type":"string","description":"Or a handle from an earlier result: tw:…"}]},
                "columns":{"type":"array","items":{"type":"string"}}}"#,
            r#"["table"]"#,
        )),
        tool(
            "get_weather",
            "获取指定地点的天气信息",
            r#"{"location":{"type":"string","description":"城市名称，如：北京、上海"},
                "unit":{"type":"string","enum":["celsius","fahrenheit"],"description":"温度单位"}}"#,
            r#"["location"]"#,
        ),
        tool(
            "search_flights",
            "搜索航班信息",
            r#"{"origin":{"type":"string","description":"出发地"},
                "destination":{"type":"string","description":"目的地"},
                "date":{"type":"string","description":"出发日期"}}"#,
            r#"["origin","destination","date"]"#,
        ),
    ]
}

async fn ask(request: Request) -> Response {
    let response = Model::offline().respond(request.clone()).await.unwrap();
    let again = Model::offline().respond(request).await.unwrap();
    assert_eq!(response, again, "the same request gets the same answer");
    response
}

async fn said(text: &str) -> Response {
    ask(Request::new([Message::user(text)]).with_tools(tools())).await
}

fn shown(call: &Call) -> String {
    format!("{} {}", call.name, call.arguments.as_str())
}

async fn calls(text: &str) -> Vec<String> {
    said(text).await.calls().map(shown).collect()
}

#[tokio::test]
async fn one_tool_is_chosen_and_its_arguments_found() {
    for (text, expected) in [
        ("read_csv test.csv", r#"read_csv {"path":"test.csv"}"#),
        ("读取test.csv", r#"read_csv {"path":"test.csv"}"#),
        ("请读取 data/测试.csv", r#"read_csv {"path":"data/测试.csv"}"#),
        ("Please load the table from sub/data.csv.", r#"read_csv {"path":"sub/data.csv"}"#),
        ("read the file notes.txt", r#"read_file {"path":"notes.txt"}"#),
        ("打开文件 README.md", r#"read_file {"path":"README.md"}"#),
        ("git status", "git_status {}"),
        ("what is the status of the git repository?", "git_status {}"),
        ("查看git状态", "git_status {}"),
        ("list files", "list_files {}"),
        ("列出 src/ 目录里的文件", r#"list_files {"path":"src/"}"#),
        ("show the git log, the last 5", r#"git_log {"limit":5}"#),
        (
            "git commit with message \"fix a, b and c\"",
            r#"git_commit {"message":"fix a, b and c"}"#,
        ),
        (
            "write \"hello, world\" to the file out.txt",
            r#"write_file {"path":"out.txt","text":"hello, world"}"#,
        ),
        ("北京今天天气怎么样", r#"get_weather {"location":"北京"}"#),
        ("What's the weather in New York today?", r#"get_weather {"location":"New York"}"#),
        ("查一下上海的天气，用华氏度", r#"get_weather {"location":"上海","unit":"fahrenheit"}"#),
        ("weather in Paris in celsius", r#"get_weather {"location":"Paris","unit":"celsius"}"#),
        (
            "search flights from Beijing to Shanghai on 2026-1-5",
            r#"search_flights {"origin":"Beijing","destination":"Shanghai","date":"2026-01-05"}"#,
        ),
        (
            "搜索从北京到上海的航班，2026年1月5日出发",
            r#"search_flights {"origin":"北京","destination":"上海","date":"2026-01-05"}"#,
        ),
        (r#"git_log {"limit": 3}"#, r#"git_log {"limit":3}"#),
    ] {
        assert_eq!(calls(text).await, [expected], "{text}");
    }
}

#[tokio::test]
async fn on_weak_evidence_no_tool_is_called() {
    for text in [
        "hello",
        "你好",
        "tell me a joke",
        "what is the meaning of life?",
        "How do I read faces?",
        "what is your status?",
        "I commit to nothing",
        "今天心情不错",
        "",
    ] {
        let response = said(text).await;
        assert_eq!(response.calls().count(), 0, "{text}");
        assert!(response.text().contains("offline/rules"), "{text}");
    }
}

#[tokio::test]
async fn missing_arguments_are_asked_for() {
    let response = said("查一下天气").await;
    assert_eq!(response.calls().count(), 0);
    assert!(
        response.text().contains("`location`（城市名称，如：北京、上海）"),
        "{}",
        response.text()
    );
    let response = said("read the csv").await;
    assert!(
        response.text().contains("`path` (The file, relative to the root)"),
        "{}",
        response.text()
    );
    // A file that is read is not taken as the file to write.
    let response = said("read a.csv and write the file").await;
    assert_eq!(response.calls().map(shown).collect::<Vec<_>>(), [r#"read_csv {"path":"a.csv"}"#]);
}

#[tokio::test]
async fn independent_tools_are_called_in_parallel() {
    assert_eq!(
        calls("我想从北京飞往上海，明天出发，帮我查一下明天上海的天气和可用的航班").await,
        [
            r#"search_flights {"origin":"北京","destination":"上海","date":"明天"}"#,
            r#"get_weather {"location":"上海"}"#,
        ]
    );
    assert_eq!(calls("git status and list files").await, ["git_status {}", "list_files {}"]);
    assert_eq!(
        calls("read a.csv and read b.csv").await,
        [r#"read_csv {"path":"a.csv"}"#, r#"read_csv {"path":"b.csv"}"#]
    );
    assert_eq!(calls("git status, then list files").await, ["git_status {}"]);
    let single = Request::new([Message::user("git status and list files")]).with_tools(tools());
    let response = ask(Request { parallel: Some(false), ..single }).await;
    assert_eq!(response.calls().count(), 1);
}

const HANDLE: &str = "tw:0123456789abcdef0123456789abcdef";

/// Continues a request until the rules make no more calls; `answer` gives the outcomes.
async fn converse(messages: &mut Vec<Message>, answer: impl Fn(&Call) -> Outcome) -> Vec<String> {
    let mut made = Vec::new();
    loop {
        let response = ask(Request::new(messages.clone()).with_tools(tools())).await;
        messages.push(response.message());
        let outcomes: Vec<Part> =
            response.calls().map(|call| Part::outcome(answer(call))).collect();
        made.extend(response.calls().map(shown));
        if outcomes.is_empty() {
            made.push(response.text());
            return made;
        }
        messages.push(Message::new(toolwright_core::Role::Tool, outcomes));
        assert!(made.len() < 10, "{made:?}");
    }
}

fn handled(call: &Call) -> Outcome {
    let text = format!("{} gave 3 rows.\nTo use it, pass \"{HANDLE}\" as the argument.", call.name);
    Outcome::text(call.id.clone().unwrap(), text)
}

#[tokio::test]
async fn a_handle_passes_from_one_outcome_to_the_next_call() {
    for text in [
        "读取 test.csv 并删除缺失数据",
        "read test.csv and drop missing rows",
        "读取test.csv，然后去掉空值",
        "Load test.csv, then remove the rows with missing values.",
    ] {
        let made = converse(&mut vec![Message::user(text)], handled).await;
        assert_eq!(made[0], r#"read_csv {"path":"test.csv"}"#, "{text}");
        assert_eq!(made[1], format!(r#"drop_missing {{"table":"{HANDLE}"}}"#), "{text}");
        assert!(made[2].contains("drop_missing") && made[2].contains("3 rows"), "{}", made[2]);
        assert_eq!(made.len(), 3);
    }
}

#[tokio::test]
async fn a_handle_is_remembered_from_an_earlier_turn() {
    let mut messages = vec![Message::user("读取test.csv")];
    let first = converse(&mut messages, handled).await;
    assert_eq!(first.len(), 2);
    messages.push(Message::user("删除缺失数据"));
    let second = converse(&mut messages, handled).await;
    assert_eq!(second[0], format!(r#"drop_missing {{"table":"{HANDLE}"}}"#));
    assert!(second[1].contains("已执行"), "{}", second[1]);
}

#[tokio::test]
async fn a_failure_is_reported_and_nothing_is_retried() {
    let failing = |call: &Call| Outcome {
        error: Some(true),
        ..Outcome::text(call.id.clone().unwrap(), "there is no file test.csv")
    };
    let text = "read test.csv and drop missing rows";
    let made = converse(&mut vec![Message::user(text)], failing).await;
    assert_eq!(made.len(), 2);
    assert!(made[1].contains("read_csv failed: there is no file test.csv"), "{}", made[1]);
}

#[tokio::test]
async fn the_tool_choice_is_obeyed() {
    let request = |choice| {
        Request::new([Message::user("git status")]).with_tools(tools()).with_tool_choice(choice)
    };
    assert_eq!(ask(request(ToolChoice::None)).await.calls().count(), 0);
    let names = vec!["list_files".to_owned()];
    let allowed = ToolChoice::Allowed { names, required: false };
    assert_eq!(ask(request(allowed)).await.calls().count(), 0);
    let forced = ask(request(ToolChoice::Tool("list_files".to_owned()))).await;
    assert_eq!(forced.calls().map(shown).collect::<Vec<_>>(), ["list_files {}"]);
}

#[tokio::test]
async fn ambiguous_tools_lead_to_a_question() {
    let alike = vec![
        tool("send_mail", "Sends a mail", "{}", "[]"),
        tool("send_post", "Sends a mail", "{}", "[]"),
    ];
    let response = ask(Request::new([Message::user("send a mail")]).with_tools(alike)).await;
    assert_eq!(response.calls().count(), 0);
    assert!(response.text().contains("send_mail") && response.text().contains("send_post"));
}

#[tokio::test]
async fn the_rules_report_their_model_and_usage() {
    let response = said("hello").await;
    assert_eq!(response.model.as_deref(), Some("offline/rules"));
    assert!(response.text().starts_with("[offline/rules: a rule-based stand-in"));
    assert!(said("你好").await.text().contains("不是语言模型"));
    let request = Request::new([Message::user("abcdefgh你好")]);
    let usage = ask(request).await.usage.unwrap();
    assert_eq!(usage.input, Some(4), "eight letters are two tokens, two characters are two");
    assert!(usage.output > Some(0));
}

#[tokio::test]
async fn no_text_causes_a_panic() {
    for text in
        ["\"", "{", "{\"a\": \"", "tw:", "从", "到", "‘’", "\u{0}\u{1}", "。，；", "- . / :"]
    {
        said(text).await;
    }
    said(&"read a.csv and ".repeat(5000)).await;
    said(&"读取数据。".repeat(5000)).await;
    let odd = Tool::function("odd", Json::Null);
    ask(Request::new([Message::user("odd")]).with_tools([odd])).await;
}

#[test]
fn a_model_is_found_by_its_name() {
    assert_eq!(Model::new("offline/rules").unwrap().name(), "offline/rules");
    let error = Model::new("nobody/nothing").unwrap_err();
    assert!(error.to_string().contains("nobody/nothing") && error.to_string().contains("offline"));
}

#[cfg(feature = "builtin")]
mod with_builtin_tools {
    use std::sync::Arc;

    use toolwright_runtime::builtin::{Root, Table, data, handlers};
    use toolwright_runtime::handle::MemoryHandles;
    use toolwright_runtime::run::{Agent, RunResult};
    use toolwright_runtime::{Context, Model, Toolbox};

    const CSV: &str = "city,degrees\n北京,20123\n上海,\n广州,30123\n";

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("test.csv"), CSV).unwrap();
        let root = Root::open(folder.path()).unwrap();
        (folder, root)
    }

    fn agent(toolbox: Toolbox) -> Agent {
        Agent::new("Extractor").with_tools(toolbox).with_model(Model::offline())
    }

    fn check(finished: &RunResult) {
        let calls: Vec<&str> = finished.calls().map(|call| call.name.as_str()).collect();
        assert_eq!(calls, ["read_csv", "drop_missing"], "{}", finished.text);
        let outcomes: Vec<_> =
            finished.messages.iter().flat_map(toolwright_core::Message::outcomes).collect();
        assert!(outcomes.iter().all(|outcome| outcome.error == Some(false)), "{outcomes:?}");
        let messages = format!("{:?}", finished.messages);
        for cell in ["20123", "30123", "上海", "广州"] {
            assert!(!messages.contains(cell), "{cell} in {messages}");
        }
    }

    #[tokio::test]
    async fn a_table_passes_by_handle_and_no_message_has_a_cell_of_it() {
        let (_folder, root) = root();
        let toolbox =
            Toolbox::new(handlers(root)).unwrap().with_handles(Arc::new(MemoryHandles::default()));
        let agent = agent(toolbox);
        for text in ["读取 test.csv 并删除缺失数据", "read test.csv and drop missing rows"]
        {
            check(&agent.run(text).finish().await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_table_passes_by_context_and_no_message_has_a_cell_of_it() {
        let (_folder, root) = root();
        let agent = agent(Toolbox::new(data::in_context(&root)).unwrap());
        for text in ["读取 test.csv 并删除缺失数据", "read test.csv and drop missing rows"]
        {
            let context = Context::new().with(Table::default());
            check(&agent.run(text).with_context(context).finish().await.unwrap());
        }
    }

    #[tokio::test]
    async fn the_builtin_tools_are_chosen_by_keywords() {
        let (_folder, root) = root();
        let toolbox =
            Toolbox::new(handlers(root)).unwrap().with_handles(Arc::new(MemoryHandles::default()));
        let model = Model::offline();
        for (text, tool) in [
            ("git status", "git_status"),
            ("git diff", "git_diff"),
            ("git log", "git_log"),
            ("查看git历史", "git_log"),
            ("git add test.csv", "git_add"),
            ("commit with message \"first\" in git", "git_commit"),
            ("list files", "list_files"),
            ("列出文件", "list_files"),
            ("read the file test.csv", "read_csv"),
            ("读取文件 notes.md", "read_file"),
            ("search files for \"北京\"", "search_files"),
            ("write \"hi\" to the file a.txt", "write_file"),
            ("读取test.csv", "read_csv"),
        ] {
            let request = toolwright_core::Request::new([toolwright_core::Message::user(text)])
                .with_tools(toolbox.tools());
            let response = model.respond(request).await.unwrap();
            let calls: Vec<&str> = response.calls().map(|call| call.name.as_str()).collect();
            assert_eq!(calls, [tool], "{text}: {}", response.text());
        }
    }
}

#[test]
fn the_rules_run_on_a_blocking_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        // While the only thread for blocking work is busy, there is no answer.
        let (release, released) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv());
        let request = Request {
            messages: vec![Message::user("list files")],
            tools: tools(),
            ..Request::default()
        };
        let model = Model::offline();
        let answer = model.respond(request);
        tokio::pin!(answer);
        tokio::select! {
            biased;
            _ = &mut answer => panic!("the answer was made while it was asked for"),
            () = std::future::ready(()) => {}
        }
        drop(release);
        assert!(busy.await.unwrap().is_err());
        assert_eq!(answer.await.unwrap().calls().next().unwrap().name, "list_files");
    });
}
