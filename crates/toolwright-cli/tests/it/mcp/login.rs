//! Access tokens of MCP servers: logins by the command line, and tokens of callers.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use toolwright_core::json::Object;
use toolwright_core::object;
use toolwright_gateway::key::KeyHash;

use super::{ask_at, call_tool, logs, names, text_of};
use crate::gateway::{Asking, Gateway, until};

/// An MCP server that wants access tokens, with its authorization server.
pub struct GuardedServer {
    process: Child,
    pub address: SocketAddr,
}

impl GuardedServer {
    pub fn start() -> GuardedServer {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/guarded.py");
        let mut command = Command::new("python3");
        let mut process = command.arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = format!("127.0.0.1:{}", line.trim()).parse().unwrap();
        GuardedServer { process, address }
    }

    pub fn table(&self, more: &str) -> String {
        format!("[mcp.s]\nurl = \"http://{}/mcp\"\n{more}\n", self.address)
    }
}

impl Drop for GuardedServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a tool returns that repeats a token: it is redacted, unless the server spells it.
fn said(tool: &str, token: &str) -> String {
    let letters: Vec<String> = token.chars().map(String::from).collect();
    format!("{tool} [redacted] {}", letters.join(" "))
}

/// Requests a URL as a browser does, and returns the URL that the answer sends it to.
fn visit(url: &str) -> Option<String> {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let path = format!("/{path}");
    let answer = Asking::send(address.parse().unwrap(), "GET", &path, &[], b"").answer();
    answer.header("location").map(str::to_owned)
}

/// Logs in with the command line and a browser, and returns what the command printed.
fn log_in(gateway: &Gateway, arguments: &[&str]) -> String {
    let mut login = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .args(["mcp", "login", "s", "--no-browser"])
        .args(arguments)
        .arg("--config")
        .arg(gateway.file("toolwright.toml"))
        .arg("--data")
        .arg(gateway.data())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    for line in BufReader::new(login.stdout.take().unwrap()).lines().map(Result::unwrap) {
        if line.starts_with("http://") {
            let callback = visit(&line).unwrap();
            assert_eq!(visit(&callback), None);
        }
        printed += &(line + "\n");
    }
    assert!(login.wait().unwrap().success(), "{printed}");
    printed
}

#[test]
fn a_login_of_the_command_line_is_used_and_renewed_by_the_gateway() {
    let server = GuardedServer::start();
    let config = server.table("");
    let gateway = Gateway::start(&config);
    assert!(names(&gateway).is_empty());
    logs(&gateway, "toolwright mcp login s");
    let printed = log_in(&gateway, &[]);
    assert!(printed.contains("logged in to s, which has 3 tools"), "{printed}");
    assert!(!printed.contains("access-"), "{printed}");
    until("the tools", || (names(&gateway).len() == 3).then_some(()));
    let first = text_of(&call_tool(&gateway, "s_whoami", Object::new()));
    assert!(first.starts_with(&said("whoami", "access-")), "{first}");
    // The server no longer accepts the token, and the gateway gets another one.
    call_tool(&gateway, "s_expire", Object::new());
    let second = text_of(&call_tool(&gateway, "s_whoami", Object::new()));
    assert!(second.starts_with(&said("whoami", "access-")) && second != first, "{second}");
    // A tool that wants a further scope names the login that gets it.
    let refused = text_of(&call_tool(&gateway, "s_admin", Object::new()));
    assert!(refused.contains("toolwright mcp login s --scope \"admin\""), "{refused}");
    log_in(&gateway, &["--scope", "admin"]);
    let admin = text_of(&call_tool(&gateway, "s_admin", Object::new()));
    assert!(admin.starts_with(&said("admin", "access-")), "{admin}");

    // The files have neither tokens nor readers but their owner.
    let folder = gateway.data().join("mcp-tokens");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(7).any(|seven| seven == b"access-"), "{}", path.display());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0);
        }
    }
    let gateway = gateway.restart(&config);
    until("the tools", || (names(&gateway).len() == 3).then_some(()));
    assert!(!gateway.log().contains("access-"), "{}", gateway.log());
}

#[test]
fn a_caller_is_known_to_the_server_by_its_own_token_only() {
    let server = GuardedServer::start();
    let key = |name: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntenant = \"{name}\"\n")
    };
    let config = key("one")
        + &key("two")
        + &server.table("token = { caller = true }\nheaders = { x-own = \"-gateway\" }");
    let gateway = Gateway::start(&config);
    // The list of tools is had with the gateway's own token, which no call uses.
    log_in(&gateway, &[]);
    let one = ("authorization", "Bearer key-one");
    let two = ("authorization", "Bearer key-two");
    let call = |headers: &[(&str, &str)]| {
        let params = object! {"name": "s_whoami", "arguments": Object::new()};
        text_of(&ask_at(&gateway, "/mcp", headers, "tools/call", params).json())
    };
    until("the tools", || (super::names_at(&gateway, "/mcp", &[one]).len() == 3).then_some(()));
    let header = "toolwright-mcp-token-s";
    assert_eq!(call(&[one, (header, "caller-1")]), said("whoami", "caller-1"));
    assert_eq!(call(&[two, (header, "caller-2")]), said("whoami", "caller-2"));
    assert_eq!(call(&[one, (header, "caller-3")]), said("whoami", "caller-3"));
    for headers in [&[one][..], &[two], &[one, (header, " ")]] {
        let refused = call(headers);
        assert!(refused.contains("needs a token of the caller"), "{refused}");
        assert!(refused.contains(header), "{refused}");
    }
    let refused = call(&[one, (header, "no")]);
    assert!(refused.contains("refused the token of the caller"), "{refused}");
    // A tenant that has logged in needs no header, and no other tenant gets its token.
    log_in(&gateway, &["--tenant", "two"]);
    let own = call(&[two]);
    assert!(own.starts_with(&said("whoami", "access-")), "{own}");
    assert!(call(&[one]).contains("needs a token of the caller"));
    assert_eq!(call(&[two, (header, "caller-2")]), said("whoami", "caller-2"));
    // The server as a prefab takes them as well.
    super::pins::run(&gateway, &["catalog", "add", "mcp:s"]);
    let body = br#"{"function": "whoami", "parameters": {}}"#;
    let headers = [one, (header, "caller-4")];
    let answer = gateway.post("/v1/prefabs/mcp-s/execute", &headers, body).ok().text();
    assert!(answer.contains(&said("whoami", "caller-4")), "{answer}");
    assert!(!gateway.log().contains("caller-"), "{}", gateway.log());
}

#[test]
fn a_result_for_one_token_is_not_cached_for_another() {
    let server = GuardedServer::start();
    let gateway = Gateway::start(&server.table("token = { caller = true }"));
    for (id, runtime, more) in [
        ("ticket-prefab", r#"{"mcp": {"server": "s"}}"#, ""),
        (
            "plan-prefab",
            r#"{"plan": {}}"#,
            r#", "plan": {"plan": "1", "steps": {"a": {"tool": "ticket-prefab/whoami"}}, "outputs": {"who": {"$from": "a"}}}"#,
        ),
    ] {
        let manifest = format!(
            r#"{{"id": "{id}", "version": "1.0.0", "name": "Tickets", "description": "Tells who calls.",
                "functions": [{{"name": "whoami", "description": "Tells who calls.", "effect": "read-only",
                "cache": "5m"{more}}}], "runtime": {runtime}}}"#
        );
        let path = gateway.file(&format!("{id}.json"));
        std::fs::write(&path, manifest).unwrap();
        super::pins::run(&gateway, &["catalog", "add", path.to_str().unwrap()]);
        let body = br#"{"function": "whoami", "parameters": {}}"#;
        for token in ["caller-1", "caller-2"] {
            let headers = [("toolwright-mcp-token-s", token)];
            let path = format!("/v1/prefabs/{id}/execute");
            let answer = gateway.post(&path, &headers, body).ok().text();
            assert!(answer.contains(&said("whoami", token)), "{answer}");
        }
    }
}
