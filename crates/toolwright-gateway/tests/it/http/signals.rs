//! The real process and the signals that it obeys.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use super::probe::Client;

/// A gateway as a process. It ends with the test.
struct Gateway {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Gateway {
    fn start(arguments: &[&str]) -> Gateway {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let (_, address) = line.split_once("http://").unwrap();
        let address = address.split_whitespace().next().unwrap().parse().unwrap();
        Gateway { child, stderr, address }
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
        // It may have ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[tokio::test]
async fn an_order_to_stop_ends_it_well() {
    for name in ["TERM", "INT"] {
        let mut gateway = Gateway::start(&[]);
        let mut client = Client::connect(gateway.address).await;
        client.send("GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert_eq!(client.answer().await.status, 200);
        gateway.signal(name);
        assert_eq!(client.rest().await, "");
        assert_eq!(gateway.end().0.code(), Some(0));
    }
}
