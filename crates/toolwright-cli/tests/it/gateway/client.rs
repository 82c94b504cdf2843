//! A client that speaks HTTP/1.1 over a plain socket, one request per connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use toolwright_core::Json;

use super::HANG;

/// A complete reply.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body ended as announced
    pub complete: bool,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The body as JSON.
    pub fn json(&self) -> Json {
        Json::parse_bytes(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// A header by its lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the reply, and panics unless the status is 200.
    pub fn ok(self) -> Answer {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        assert!(self.complete, "cut off: {}", String::from_utf8_lossy(&self.body));
        self
    }

    /// The data of each server-sent event, except for `[DONE]`.
    pub fn events(&self) -> Vec<Json> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        data.filter(|data| *data != "[DONE]").map(|data| Json::parse(data).unwrap()).collect()
    }
}

/// A request that was sent, and the part of its reply that was read.
pub struct Asking {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Asking {
    /// Sends a request. The server closes the connection after the reply.
    pub fn send(
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Asking {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(HANG)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if headers.iter().all(|(name, _)| *name != "host") {
            head += &["host: ", &address.to_string(), "\r\n"].concat();
        }
        if matches!(method, "POST" | "PUT") {
            head += &["content-length: ", &body.len().to_string(), "\r\n"].concat();
        }
        if method == "POST" && headers.iter().all(|(name, _)| *name != "content-type") {
            head += "content-type: application/json\r\n";
        }
        for (name, value) in headers {
            head += &[name, ": ", value, "\r\n"].concat();
        }
        head += "\r\n";
        // A server may answer and close before it has read everything.
        let _sent = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
        Asking { socket, read: Vec::new() }
    }

    /// Wraps a connection on which a request was already sent.
    pub fn of(socket: TcpStream) -> Asking {
        Asking { socket, read: Vec::new() }
    }

    /// Reads until the reply so far, including the head, contains a text.
    pub fn until(&mut self, text: &str) -> String {
        loop {
            let so_far = String::from_utf8_lossy(&self.read).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            assert!(self.more() > 0, "ended without {text:?}: {so_far:?}");
        }
    }

    /// Reads the rest of the reply.
    pub fn answer(mut self) -> Answer {
        while self.more() > 0 {}
        let end = self.read.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", self.read.escape_ascii()));
        let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers: Vec<(String, String)> = headers.collect();
        let rest = &self.read[end + 4..];
        let header = |name: &str| headers.iter().find(|(known, _)| known == name);
        let (body, complete) = match header("content-length") {
            Some((_, size)) => (rest.to_vec(), rest.len() == size.parse::<usize>().unwrap()),
            None => unchunk(rest),
        };
        Answer { status, headers, body, complete }
    }

    /// Reads the rest of the reply, and keeps only its status.
    pub fn status(mut self) -> u16 {
        let head = self.until("\r\n\r\n");
        while self.more() > 0 {
            self.read.clear();
        }
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn more(&mut self) -> usize {
        let mut buffer = [0; 16 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(read) => {
                self.read.extend_from_slice(&buffer[..read]);
                read
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error} after {:?}", self.read.escape_ascii().to_string()),
        }
    }
}

/// Decodes a chunked body, and returns whether it was complete.
pub fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else {
            return (body, false);
        };
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, true);
        }
        if rest.len() < size + 2 {
            body.extend_from_slice(&rest[..rest.len().min(size)]);
            return (body, false);
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}
