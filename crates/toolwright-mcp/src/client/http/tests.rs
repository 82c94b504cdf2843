//! Tests of the HTTP client.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::super::secrets::SentSecrets;
use super::super::sse::Sse;
use super::*;
use crate::protocol::CALL_TOOL;

/// A server that sends many requests on each stream, and does not reply to the answers. Each answer is reported.
async fn flooding() -> (ServerUrl, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let (answered, answers) = channel(1000);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(flood(stream, answered.clone()));
        }
    });
    (ServerUrl::new(url, HttpClient::new("the server").unwrap()), answers)
}

async fn flood(mut stream: TcpStream, answered: Sender<()>) {
    let mut request = Vec::new();
    while !request.ends_with(b"}") && !request.ends_with(b"\r\n\r\n") {
        stream.read_buf(&mut request).await.unwrap();
    }
    if String::from_utf8_lossy(&request).contains("\"result\"") {
        answered.send(()).await.unwrap();
    } else {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /\n\n";
        let ping = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n";
        let _ = stream.write_all((head.to_owned() + &ping.repeat(5000)).as_bytes()).await;
    }
    std::future::pending::<()>().await;
}

/// Waits for the answers that the server may leave unread, and returns the number of tasks then.
async fn tasks_after(mut answers: Receiver<()>) -> usize {
    for _ in 0..64 {
        answers.recv().await.unwrap();
    }
    Handle::current().metrics().num_alive_tasks()
}

fn inbox() -> Arc<Inbox> {
    Arc::new(Inbox::new("s".into(), Arc::default(), SentSecrets::default()))
}

#[tokio::test]
async fn a_server_that_does_not_read_its_answers_is_not_read() {
    let (address, answers) = flooding().await;
    let http = Arc::new(Http::new(address, inbox()));
    let (method, params) = (CALL_TOOL.to_owned(), toolwright_json::Object::new());
    let request = Request { id: 1_u64.into(), method, params };
    let envelope = Envelope { era: Era::Handshake, version: "", parameters: &[] };
    tokio::select! {
        _ = http.request(1, &request, envelope) => panic!("there is no response"),
        // Each answer is a task, one of its connection and one of the server.
        tasks = tasks_after(answers) => assert!(tasks < 4 * 64, "{tasks}"),
    }
}

#[tokio::test]
async fn a_server_of_the_first_transport_that_does_not_read_its_answers_is_not_read() {
    let (address, answers) = flooding().await;
    let sse = Sse::open(&address, inbox()).await.unwrap();
    let tasks = tasks_after(answers).await;
    assert!(tasks < 4 * 64, "{tasks}");
    assert_eq!(Arc::strong_count(&sse), 1, "answers under way do not keep the connection");
}
