//! A catalog on another server, which answers as documented.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use toolwright_catalog::Catalog;
use toolwright_catalog::files::{FileLimits, Files};
use toolwright_catalog::remote::RemoteCatalog;
use toolwright_catalog::runtime::Runner;
use toolwright_catalog::tools::CatalogTools;
use toolwright_runtime::{Session, Toolbox};
use toolwright_transport::{Deadlines, HttpClient};

use toolwright_testing::server::{Server, read_request};
use toolwright_testing::tools::{call, done, text};

/// A server that answers each request with what its first line selects.
async fn serve() -> Server {
    Server::new(|mut stream| async move {
        let Some((head, body)) = read_request(&mut stream).await else { return };
        let request = head + &String::from_utf8(body).unwrap();
        let (status, body) = if request
            .starts_with("GET /v1/public/prefabs/a-prefab/functions?version=1.0.0 ")
        {
            (200, r#"[{"name":"run","description":"Runs"}]"#)
        } else if request.starts_with("GET /v1/public/prefabs/a-prefab/functions/run ") {
            (200, r#"{"name":"run","description":"Runs","parameters":[],"files":{},"returns":{}}"#)
        } else if request.contains(r#""function_name":"tell"#) {
            let done = if request.contains("tell_all") {
                r#"{"status":"SUCCESS","output":{"n":1},"files":{"out":["s3://b/f"]}}"#
            } else {
                "null"
            };
            let events = format!(
                ": running\n\ndata: {{\"type\":\"start\"}}\n\ndata: {{\"type\":\"content\",\"data\":\"tw-1 你\"}}\n\n\
                 data: {{\"type\":\"content\",\"data\":\"好\"}}\n\ndata: {{\"type\":\"done\",\"data\":{done}}}\n\n"
            );
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            // In the middle of a character.
            let (first, second) = events.as_bytes().split_at(events.find('你').unwrap() + 1);
            stream.write_all(first).await.unwrap();
            stream.flush().await.unwrap();
            tokio::task::yield_now().await;
            return stream.write_all(second).await.unwrap();
        } else if request.starts_with("POST /v1/internal/run ")
            && request.contains("x-internal-token: tw-1")
        {
            let body = r#"{"job_id":"j1","status":"SUCCESS","results":[{"status":"SUCCESS","output":{"status":"SUCCESS","output":{"success":true},"files":{"out":["s3://b/f"]}}}]}"#;
            (200, body)
        } else if request.contains("/broken/") {
            (503, "overloaded")
        } else {
            (404, r#"{"detail":"Prefab 'x-prefab' not found"}"#)
        };
        let reply = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(reply.as_bytes()).await.unwrap();
    })
    .await
}

#[tokio::test]
async fn the_tools_use_another_server() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(folder.path()).unwrap();
    let files = Files::open(folder.path(), FileLimits::default()).unwrap();
    let tools = CatalogTools::local(catalog, Arc::new(Runner::new(files)));
    let server = serve().await;
    let remote = RemoteCatalog::new(&server.url()).unwrap().with_token("tw-1".into());
    let toolbox = Toolbox::new(tools.clone().with_remote(Some(remote)).handlers()).unwrap();
    let unreachable = RemoteCatalog::new("http://127.0.0.1:1").unwrap();
    let dead = Toolbox::new(tools.with_remote(Some(unreachable)).handlers()).unwrap();
    for (toolbox, tool, arguments, wanted) in [
        (
            &toolbox,
            "list_prefab_functions",
            r#"{"prefab_id": "a-prefab", "version": "1.0.0"}"#,
            r#"{"success":true,"result":{"prefab_id":"a-prefab","version":"1.0.0","functions":[{"name":"run","description":"Runs"}],"total_functions":1},"tool_name":"list_prefab_functions"}"#,
        ),
        (
            &toolbox,
            "get_function_details",
            r#"{"prefab_id": "a-prefab", "function_name": "run"}"#,
            r#"{"success":true,"result":{"prefab_id":"a-prefab","version":"latest","function":{"name":"run","description":"Runs","parameters":[],"files":{},"returns":{}}},"tool_name":"get_function_details"}"#,
        ),
        (
            &toolbox,
            "call_prefab_function",
            r#"{"prefab_id": "a-prefab", "version": "1.0.0", "function_name": "run", "parameters": {}}"#,
            r#"{"success":true,"result":{"prefab_id":"a-prefab","version":"1.0.0","function_name":"run","function_result":{"success":true},"output_files":{"out":["s3://b/f"]},"job_id":"c1"},"tool_name":"call_prefab_function"}"#,
        ),
        (
            &toolbox,
            "call_prefab_function",
            r#"{"prefab_id": "a-prefab", "version": "1.0.0", "function_name": "tell", "parameters": {}}"#,
            r#"{"success":true,"result":{"prefab_id":"a-prefab","version":"1.0.0","function_name":"tell","function_result":"[redacted] 你好","output_files":{},"job_id":"c1"},"tool_name":"call_prefab_function"}"#,
        ),
        (
            &toolbox,
            "call_prefab_function",
            r#"{"prefab_id": "a-prefab", "version": "1.0.0", "function_name": "tell_all", "parameters": {}}"#,
            r#"{"success":true,"result":{"prefab_id":"a-prefab","version":"1.0.0","function_name":"tell_all","function_result":{"n":1},"output_files":{"out":["s3://b/f"]},"job_id":"c1"},"tool_name":"call_prefab_function"}"#,
        ),
        (
            &toolbox,
            "list_prefab_functions",
            r#"{"prefab_id": "x-prefab"}"#,
            r#"{"success":false,"error":"Prefab 'x-prefab' not found","tool_name":"list_prefab_functions"}"#,
        ),
    ] {
        let result = done(toolbox.call(&Session::new("run"), &call("c1", tool, arguments)).await);
        assert_eq!(text(&result), wanted);
    }
    for (toolbox, prefab, wanted) in [
        (&toolbox, "broken", "status 503: overloaded"),
        (&dead, "a-prefab", "The prefab gateway http://127.0.0.1:1 failed"),
    ] {
        let arguments = format!(r#"{{"prefab_id": "{prefab}"}}"#);
        let call = call("c1", "list_prefab_functions", &arguments);
        let result = text(&done(toolbox.call(&Session::new("run"), &call).await));
        assert!(result.contains(wanted) && result.contains(r#""success":false"#), "{result}");
    }
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_may_have_run() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(folder.path()).unwrap();
    let files = Files::open(folder.path(), FileLimits::default()).unwrap();
    let tools = CatalogTools::local(catalog, Arc::new(Runner::new(files)));
    // It answers no TLS handshake.
    let silent = Server::new(|stream| async move {
        let _held = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let mut cases = vec![
        ("http://127.0.0.1:1".to_owned(), false),
        (silent.url().replace("http:", "https:"), false),
    ];
    let mut servers = Vec::new();
    for (answer, is_in_doubt) in [
        ("", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\n:", true),
        ("HTTP/1.1 502 X\r\ncontent-length: 0\r\n\r\n", true),
        ("HTTP/1.1 504 X\r\ncontent-length: 0\r\n\r\n", true),
        ("HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n", false),
        ("HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n", false),
    ] {
        let server = Server::closing(answer.as_bytes()).await;
        cases.push((server.url(), is_in_doubt));
        servers.push(server);
    }
    let deadlines = Deadlines::new().with_connect(Duration::from_secs(1));
    let http = HttpClient::new("the server").unwrap().with_deadlines(deadlines);
    for (address, is_in_doubt) in cases {
        let remote = RemoteCatalog::new(&address).unwrap().with_http(http.clone());
        let toolbox = Toolbox::new(tools.clone().with_remote(Some(remote)).handlers()).unwrap();
        let arguments = r#"{"prefab_id": "a-prefab", "version": "1.0.0", "function_name": "run", "parameters": {}}"#;
        let run = call("c1", "call_prefab_function", arguments);
        let result = text(&done(toolbox.call(&Session::new("run"), &run).await));
        assert!(result.contains(&address) && result.contains(r#""success":false"#), "{result}");
        assert_eq!(result.contains("not known whether the call had"), is_in_doubt, "{result}");
        assert!(!is_in_doubt || !result.contains("try again"), "{result}");
        let list = call("c2", "list_prefab_functions", r#"{"prefab_id": "a-prefab"}"#);
        let result = text(&done(toolbox.call(&Session::new("run"), &list).await));
        assert!(!result.contains("not known whether"), "{result}");
    }
}
