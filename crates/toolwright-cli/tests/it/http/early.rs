//! Answers over HTTP/2 to requests whose body was not read. A reset of the stream right after the answer makes some
//! clients (curl 7.88) lose it. The frames are written by hand, because clients hide them.

use std::io::{Read, Write};
use std::net::TcpStream;

use toolwright_gateway::key::KeyHash;

use crate::gateway::{Gateway, HANG};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// The flag of the last frame of a stream, and of the answer to a ping.
const END: u8 = 1;

fn write(socket: &mut TcpStream, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [size[1], size[2], size[3], kind, flags, 0, 0, 0, stream];
    socket.write_all(&[&head, payload].concat()).unwrap();
}

/// Reads a frame: its kind, its flags and its payload.
fn read(socket: &mut TcpStream) -> (u8, u8, Vec<u8>) {
    let mut head = [0; 9];
    socket.read_exact(&mut head).unwrap();
    let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(size).unwrap()];
    socket.read_exact(&mut payload).unwrap();
    (head[3], head[4], payload)
}

/// Reads frames until one of a kind has the flag; none of them is a reset.
fn until(socket: &mut TcpStream, kind: u8) -> Vec<u8> {
    let mut payloads = Vec::new();
    loop {
        let (found, flags, payload) = read(socket);
        assert_ne!(found, RST_STREAM, "the stream is reset: {payload:?}");
        if found == kind {
            payloads.extend(payload);
            if flags & END != 0 {
                return payloads;
            }
        }
    }
}

#[test]
fn a_refused_request_over_http2_may_be_sent_to_its_end() {
    let key = format!("[keys.alice]\nhash = \"{}\"\n", KeyHash::of("key-alice"));
    let gateway = Gateway::start(&key);
    let mut socket = TcpStream::connect(gateway.address).unwrap();
    socket.set_read_timeout(Some(HANG)).unwrap();
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    write(&mut socket, SETTINGS, 0, 0, &[]);
    // POST and http are in the static table of HPACK; path and authority are literals.
    let path = b"/v1/chat/completions";
    let mut head = vec![0x83, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend_from_slice(path);
    head.extend_from_slice(b"\x01\x01x");
    write(&mut socket, HEADERS, 4, 1, &head);
    write(&mut socket, DATA, 0, 1, &[b' '; 16_000]);
    let answer = String::from_utf8(until(&mut socket, DATA)).unwrap();
    assert!(answer.contains("No API key was sent"), "{answer}");
    for flags in [0, END] {
        write(&mut socket, PING, 0, 0, &[0; 8]);
        until(&mut socket, PING);
        write(&mut socket, DATA, flags, 1, &[b' '; 16_000]);
    }
    write(&mut socket, PING, 0, 0, &[0; 8]);
    until(&mut socket, PING);
}
