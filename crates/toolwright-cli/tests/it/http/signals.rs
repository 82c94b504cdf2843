//! The real process and the signals that it handles.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use super::probe::{Client, HANG};

/// A gateway process. It is killed when the test ends.
struct Gateway {
    child: Child,
    _data: tempfile::TempDir,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Gateway {
    fn start(arguments: &[&str]) -> Gateway {
        let data = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data", data.path().to_str().unwrap()])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let (_, address) = line.split_once("http://").unwrap();
        let address = address.split_whitespace().next().unwrap().parse().unwrap();
        Gateway { child, _data: data, stderr, address }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (status, said)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have exited already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[tokio::test]
async fn sigterm_stops_gracefully() {
    for name in ["TERM", "INT"] {
        let mut gateway = Gateway::start(&[]);
        let mut client = Client::connect(gateway.address).await;
        client.send("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(client.answer().await.status, 200);
        gateway.signal(name);
        assert_eq!(client.rest().await, "");
        assert_eq!(gateway.end().0.code(), Some(0));
    }
}

#[tokio::test]
async fn requests_begun_before_the_signal_are_answered() {
    let mut gateway = Gateway::start(&[]);
    let mut client = Client::connect(gateway.address).await;
    client.send("GET /readyz HTTP/1.1\r\nhost: localhost\r\n").await;
    // A second request on another connection: the server has accepted the first by then.
    let mut other = Client::connect(gateway.address).await;
    other.send("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(other.answer().await.text(), "ready\n");
    gateway.signal("TERM");
    assert_eq!(other.rest().await, "");
    client.send("\r\n").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.text().as_str()), (503, "draining\n"));
    assert_eq!(gateway.end().0.code(), Some(0));
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let mut gateway = Gateway::start(&[]);
    let mut client = Client::connect(gateway.address).await;
    client.send("GET /readyz HTTP/1.1\r\nhost: localhost\r\n").await;
    let mut other = Client::connect(gateway.address).await;
    other.send("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    other.answer().await;
    gateway.signal("TERM");
    assert_eq!(other.rest().await, "");
    gateway.signal("TERM");
    assert_eq!(client.rest().await, "");
    let (status, said) = gateway.end();
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("stopped before"), "{said}");
}

#[tokio::test]
async fn a_reload_drops_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let write = |headers: usize| {
        // Renamed in one step, so that no reload reads a partial file.
        let half = folder.path().join("half");
        std::fs::write(&half, format!("[limits]\nheaders = {headers}\n")).unwrap();
        std::fs::rename(&half, &file).unwrap();
    };
    write(5);
    let gateway = Gateway::start(&["--config", file.to_str().unwrap()]);
    let address = gateway.address;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let load: Vec<_> = (0..8)
        .map(|_| {
            let stopped = stopped.clone();
            tokio::spawn(async move {
                let mut answered = 0;
                while !*stopped.borrow() {
                    let mut client = Client::connect(address).await;
                    for _ in 0..20 {
                        client.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
                        assert_eq!(client.answer().await.status, 200);
                        answered += 1;
                    }
                }
                answered
            })
        })
        .collect();
    for _ in 0..5 {
        write(20);
        gateway.signal("HUP");
        until_ten_headers_give(address, 200).await;
        write(5);
        gateway.signal("HUP");
        until_ten_headers_give(address, 431).await;
    }
    stop.send(true).unwrap();
    for clients in load {
        assert!(clients.await.unwrap() > 0);
    }
}

/// Sends requests on new connections until the reply has this status.
async fn until_ten_headers_give(address: SocketAddr, status: u16) {
    let request = format!("GET /healthz HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(10));
    let asking = async {
        loop {
            let mut client = Client::connect(address).await;
            client.send(&request).await;
            if client.head().await.status == status {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(HANG, asking).await.unwrap();
}

#[test]
fn errors_at_the_start_are_reported() {
    let run = |arguments: &[&str]| crate::run::toolwright(arguments, b"");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let refused = run(&["serve", "--listen", &taken, "--data", data]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("in use") && refused.stderr.contains("hint: "));
    let refused = run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--open"), "{}", refused.stderr);
    let refused = run(&["serve", "--listen", "nonsense"]);
    assert_eq!(refused.code, 2);
    let refused = run(&["serve", "--config", "/nowhere.toml"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("/nowhere.toml"));
}
