//! Frames: recorded streams and the rules of each framing. Law 5 is in `frames_on_any_split.rs`.

use toolwright_core::Json;
use toolwright_dialects::frame::{Frame, FrameError, FrameReader, FrameWriter, Framing, MAX_FRAME};

use toolwright_testing::growth;

use crate::fixtures;

pub const RECORDED: [(Framing, &str, usize); 18] = [
    (Framing::Sse, "anthropic/accepted/anthropic_stream.txt", 28),
    (Framing::Sse, "anthropic/accepted/anthropic_stream_error.txt", 6),
    (Framing::Sse, "cohere/accepted/cohere_stream.txt", 16),
    (Framing::Sse, "cohere/accepted/cohere_stream_text.txt", 9),
    (Framing::Sse, "deepseek/accepted/deepseek_chat_stream.txt", 21),
    (Framing::Sse, "gemini/accepted/gemini_stream.txt", 6),
    (Framing::Sse, "gemini/accepted/gemini_stream_error.txt", 2),
    (Framing::Sse, "mcp/accepted/mcp_modern_sse_body.txt", 2),
    (Framing::Sse, "mistral/accepted/mistral_stream.txt", 5),
    (Framing::Sse, "openai-chat/accepted/openai_chat_stream.txt", 18),
    (Framing::Sse, "openai-chat/accepted/openai_chat_stream_error.txt", 4),
    (Framing::Sse, "openai-responses/accepted/openai_responses_stream.txt", 31),
    (Framing::Sse, "openai-responses/accepted/openai_responses_stream_error.txt", 4),
    (Framing::Sse, "openai-responses/accepted/openai_responses_stream_failed.txt", 4),
    (Framing::Aws, "bedrock/accepted/bedrock_converse_stream.bin", 21),
    (Framing::Aws, "bedrock/accepted/bedrock_converse_stream_error.bin", 5),
    (Framing::Ndjson, "ollama/accepted/ollama_stream.ndjson.txt", 6),
    (Framing::Ndjson, "ollama/accepted/ollama_stream_error.ndjson.txt", 2),
];

/// The result of a reader: the frames before an error, and the error.
pub type Read = (Vec<Frame>, Result<(), FrameError>);

pub fn recorded(file: &str) -> Vec<u8> {
    std::fs::read(fixtures::root().join(file)).unwrap()
}

pub fn read_chunks<'c>(framing: Framing, chunks: impl IntoIterator<Item = &'c [u8]>) -> Read {
    let mut reader = FrameReader::new(framing);
    let mut frames = Vec::new();
    for chunk in chunks {
        if let Err(error) = reader.push(chunk, &mut frames) {
            return (frames, Err(error));
        }
    }
    let result = reader.finish(&mut frames);
    (frames, result)
}

pub fn read(framing: Framing, bytes: impl AsRef<[u8]>) -> Read {
    read_chunks(framing, [bytes.as_ref()])
}

fn frames(framing: Framing, bytes: impl AsRef<[u8]>) -> Vec<Frame> {
    let (frames, result) = read(framing, bytes);
    assert_eq!(result, Ok(()));
    frames
}

pub fn written(framing: Framing, frames: &[Frame]) -> Vec<u8> {
    let mut writer = FrameWriter::new(framing);
    let mut out = Vec::new();
    for frame in frames {
        writer.write(frame, &mut out);
    }
    writer.end(&mut out);
    out
}

#[test]
fn arrays_are_split_into_their_objects() {
    let google = "[{\n  \"a\": \"} ] \\\" ,\"\n}\n,\r\n{\"b\": [{}, [1]]}\n]\n";
    let cut = frames(Framing::Array, google);
    let texts: Vec<&str> = cut.iter().map(|frame| frame.data.as_str()).collect();
    assert_eq!(texts, ["{\n  \"a\": \"} ] \\\" ,\"\n}", "{\"b\": [{}, [1]]}"]);
    assert_eq!(frames(Framing::Array, " [ ] "), []);
    // A reply that is not a stream is one object.
    assert_eq!(frames(Framing::Array, "{\"error\": {}}\n"), [Frame::data("{\"error\": {}}")]);
    for (bytes, count, error) in [
        ("[{}", 1, FrameError::Truncated),
        ("[{}, {\"a\":", 1, FrameError::Truncated),
        ("[", 0, FrameError::Truncated),
        ("[{} {}]", 1, FrameError::Malformed),
        ("[{},]", 1, FrameError::Malformed),
        ("[1]", 0, FrameError::Malformed),
        ("[{}] x", 1, FrameError::Malformed),
        ("data: {}", 0, FrameError::Malformed),
    ] {
        let (frames, result) = read(Framing::Array, bytes);
        assert_eq!((frames.len(), result), (count, Err(error)), "{bytes}");
    }
}

#[test]
fn an_array_can_be_continued_at_any_point() {
    for (begun, rest) in [
        ("", "[{\"e\":1}\n]\n"),
        ("[", "{\"e\":1}\n]\n"),
        ("[{}", "\n,\r\n{\"e\":1}\n]\n"),
        ("[{},\n", "{\"e\":1}\n]\n"),
        ("[{}]", ""),
    ] {
        let mut reader = FrameReader::new(Framing::Array);
        reader.push(begun.as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(reader.is_between(), !begun.ends_with(']'));
        let mut writer = FrameWriter::after(&reader);
        let mut out = Vec::new();
        writer.write(&Frame::data("{\"e\":1}"), &mut out);
        writer.end(&mut out);
        writer.end(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), rest, "{begun}");
    }
}

/// An AWS message with valid checksums around any headers and payload.
pub fn sealed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = u32::try_from(headers.len() + payload.len() + 16).unwrap();
    sealed_as(total, u32::try_from(headers.len()).unwrap(), headers, payload)
}

fn sealed_as(total: u32, headers_length: u32, headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = [total.to_be_bytes(), headers_length.to_be_bytes()].concat();
    out.extend(crc(&out).to_be_bytes());
    out.extend(headers);
    out.extend(payload);
    out.extend(crc(&out).to_be_bytes());
    out
}

/// CRC-32 bit by bit, independent of the tested implementation.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

pub fn header(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![u8::try_from(name.len()).unwrap()];
    out.extend(name.as_bytes());
    out.push(kind);
    if matches!(kind, 6 | 7) {
        out.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
    }
    out.extend(value);
    out
}

pub fn string_header(name: &str, value: &str) -> Vec<u8> {
    header(name, 7, value.as_bytes())
}

#[test]
fn recorded_streams_are_read_whole() {
    for (framing, file, count) in RECORDED {
        let frames = frames(framing, recorded(file));
        assert_eq!(frames.len(), count, "{file}");
        for frame in frames {
            assert!(frame.data == "[DONE]" || Json::parse(&frame.data).is_ok(), "{file}");
        }
    }
}

#[test]
fn recorded_streams_are_written_back() {
    for (framing, file, _) in RECORDED {
        let bytes = recorded(file);
        let again = written(framing, &frames(framing, &bytes));
        // CRLF and comments are not preserved.
        if file.starts_with("gemini") {
            assert_eq!(again, String::from_utf8(bytes).unwrap().replace("\r\n", "\n").as_bytes());
        } else if let Some(rest) = bytes.strip_prefix(b": keep-alive\n\n") {
            assert_eq!(again, rest, "{file}");
        } else {
            assert_eq!(again, bytes, "{file}");
        }
    }
}

#[test]
fn bedrock_frames_equal_their_listing() {
    let listing = recorded("bedrock/accepted/bedrock_converse_stream.events.txt");
    let expected: Vec<Frame> = String::from_utf8(listing)
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, data)| Frame::named(name, data))
        .collect();
    let bytes = recorded("bedrock/accepted/bedrock_converse_stream.bin");
    assert_eq!(frames(Framing::Aws, bytes), expected);

    let bytes = recorded("bedrock/accepted/bedrock_converse_stream_error.bin");
    let last = frames(Framing::Aws, bytes).pop().unwrap();
    let data = r#"{"message":"Too many tokens, please wait before trying again."}"#;
    assert_eq!(last, Frame::exception("throttlingException", data));
}

#[test]
fn a_character_split_across_chunks_is_read_whole() {
    let data = r#"{"text":"查询北京天气👩‍👩‍👧 naïve 🇨🇳"}"#;
    for framing in Framing::ALL {
        let expected = if matches!(framing, Framing::Ndjson | Framing::Array) {
            vec![Frame::data(data), Frame::data(data)]
        } else {
            vec![Frame::named("消息🙂", data), Frame::named("消息🙂", data)]
        };
        let bytes = written(framing, &expected);
        for at in 0..=bytes.len() {
            let (left, right) = bytes.split_at(at);
            let halves = read_chunks(framing, [left, right]);
            assert_eq!(halves, (expected.clone(), Ok(())), "{framing:?} at {at}");
        }
        let (got, result) = read_chunks(framing, bytes.chunks(1));
        assert_eq!((got, result), (expected, Ok(())), "{framing:?} byte by byte");
    }
}

#[test]
fn sse_follows_the_standard() {
    let cases: [(&str, &[(&str, &str)]); 23] = [
        ("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
        ("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
        ("event: x\r\ndata: a\r\ndata: b\r\n\r\n", &[("x", "a\nb")]),
        ("data: a\r\n\ndata: b\n\r\n", &[("", "a"), ("", "b")]),
        ("\u{feff}data: a\n\n", &[("", "a")]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        ("data: a\n\n\u{feff}data: b\n\n", &[("", "a")]),
        (": hello\n\ndata: a\n: between\ndata: b\n\n", &[("", "a\nb")]),
        ("data: a\ndata\ndata:\ndata: b\n\n", &[("", "a\n\n\nb")]),
        ("data:a\ndata:  b\n\n", &[("", "a\n b")]),
        ("data\n\n", &[("", "")]),
        ("event: ping\n\ndata: a\n\n", &[("", "a")]),
        ("event: one\nevent: two\ndata: a\n\ndata: b\n\n", &[("two", "a"), ("", "b")]),
        ("data: a\nevent:x y \n\n", &[("x y ", "a")]),
        ("event: x\nevent:\ndata: a\n\n", &[("", "a")]),
        ("id: 7\nretry: 10\nother: x\nDATA: no\ndata : no\ndata: a\n\n", &[("", "a")]),
        (" data: no\n\n", &[]),
        ("data: a:b: c\n\n", &[("", "a:b: c")]),
        ("data: a\n\n\n\n\ndata: b", &[("", "a"), ("", "b")]),
        ("event: x\ndata: a\n", &[("x", "a")]),
        ("event: x\ndata: a\r", &[("x", "a")]),
        ("data: a\n\nevent: x\n", &[("", "a")]),
    ];
    for (bytes, expected) in cases {
        let expected: Vec<Frame> = expected
            .iter()
            .map(|(name, data)| match *name {
                "" => Frame::data(*data),
                name => Frame::named(name, *data),
            })
            .collect();
        assert_eq!(frames(Framing::Sse, bytes), expected, "{bytes:?}");
        let single = read_chunks(Framing::Sse, bytes.as_bytes().chunks(1));
        assert_eq!(single, (expected, Ok(())), "{bytes:?} byte by byte");
    }
}

#[test]
fn sse_delivers_at_once() {
    let mut reader = FrameReader::new(Framing::Sse);
    let mut frames = Vec::new();
    reader.push(b"data: a\r\n\r", &mut frames).unwrap();
    assert_eq!(frames, [Frame::data("a")], "the LF of a CRLF is not waited for");
    reader.push(b"\ndata: b\r\n\r\n", &mut frames).unwrap();
    assert_eq!(frames, [Frame::data("a"), Frame::data("b")]);
}

#[test]
fn sse_writer_cannot_be_broken_out_of() {
    let frame = Frame::named("a\r\ndata: x\n\n", "1\r\n2\r3\nevent: y\r\r4");
    let bytes = written(Framing::Sse, std::slice::from_ref(&frame));
    let expected = Frame::named("adata: x", "1\n2\n3\nevent: y\n\n4");
    assert_eq!(frames(Framing::Sse, bytes), [expected]);
}

#[test]
fn ndjson_has_one_document_per_line() {
    let bytes = "{\"a\":1}\n\n  \t\r\n[2]\r\n {\"b\": 3} \n4";
    let expected = ["{\"a\":1}", "[2]", " {\"b\": 3} ", "4"].map(Frame::data);
    assert_eq!(frames(Framing::Ndjson, bytes), expected);

    let broken = Frame::named("dropped", "{\n\"a\":\r\n1}");
    assert_eq!(written(Framing::Ndjson, &[broken]), b"{ \"a\":  1}\n");
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let refused: Read = (vec![Frame::data("1")], Err(FrameError::NotUtf8));
    assert_eq!(read(Framing::Sse, b"data: 1\n\ndata: \xFF\n\n"), refused);
    assert_eq!(read(Framing::Sse, b"data: 1\n\nevent: \xE4\xBD\ndata: 2\n\n"), refused);
    assert_eq!(read(Framing::Sse, b"data: 1\n\ndata: \xFF"), refused);
    assert_eq!(read(Framing::Ndjson, b"1\n\"\xE4\xBD\"\n"), refused);
    let (_, result) = read(Framing::Aws, sealed(&[], b"\xE4\xBD"));
    assert_eq!(result, Err(FrameError::NotUtf8));
    let (_, result) = read(Framing::Aws, sealed(&header(":event-type", 7, b"\xFF"), b""));
    assert_eq!(result, Err(FrameError::NotUtf8));
    // Ignored lines need not be UTF-8.
    assert_eq!(frames(Framing::Sse, b": \xFF\n\xFF: \xFF\ndata: 1\n\n"), [Frame::data("1")]);
}

#[test]
fn end_inside_a_character_is_truncation() {
    for (framing, bytes) in [
        (Framing::Sse, &b"data: \xE4\xBD"[..]),
        (Framing::Ndjson, b"\"\xF0\x9F"),
        (Framing::Aws, &recorded("bedrock/accepted/bedrock_converse_stream.bin")[..40]),
        (Framing::Aws, &[0]),
    ] {
        assert_eq!(read(framing, bytes), (vec![], Err(FrameError::Truncated)), "{framing:?}");
    }
}

#[test]
fn aws_checksums_are_checked() {
    let bytes = recorded("bedrock/accepted/bedrock_converse_stream.bin");
    let first = usize::try_from(u32::from_be_bytes(*bytes.first_chunk().unwrap())).unwrap();
    for at in 0..first {
        for bit in [1, 0x80] {
            let mut corrupt = bytes.clone();
            corrupt[at] ^= bit;
            assert_eq!(read(Framing::Aws, corrupt), (vec![], Err(FrameError::Checksum)), "{at}");
        }
    }
}

#[test]
fn aws_headers_of_every_type_are_read() {
    let values: [(u8, &[u8]); 10] = [
        (0, b""),
        (1, b""),
        (2, b"\xFF"),
        (3, b"\xFF\xFF"),
        (4, &[7; 4]),
        (5, &[7; 8]),
        (6, b"\xFF\0\xFE"),
        (7, "é".as_bytes()),
        (8, &[0xFF; 8]),
        (9, &[0xFF; 16]),
    ];
    let mut headers = Vec::new();
    for (kind, value) in values {
        headers.extend(header("some", kind, value));
    }
    headers.extend(string_header(":event-type", "metadata"));
    for (kind, value) in values {
        let mut headers = headers.clone();
        headers.extend(header("last", kind, value));
        let bytes = sealed(&headers, b"{}");
        assert_eq!(frames(Framing::Aws, bytes), [Frame::named("metadata", "{}")]);

        headers.pop();
        let (_, result) = read(Framing::Aws, sealed(&headers, b"{}"));
        assert_eq!(result, Err(FrameError::Malformed), "type {kind} cut short");
    }
    for kind in 10..=u8::MAX {
        let (_, result) = read(Framing::Aws, sealed(&header("x", kind, b""), b"{}"));
        assert_eq!(result, Err(FrameError::Malformed), "type {kind}");
    }
}

#[test]
fn aws_message_types_are_distinguished() {
    let kind = |kind| string_header(":message-type", kind);
    let event = [string_header(":event-type", "a"), kind("event")].concat();
    assert_eq!(frames(Framing::Aws, sealed(&event, b"1")), [Frame::named("a", "1")]);

    let exception = [
        kind("exception"),
        string_header(":content-type", "text/plain"),
        string_header(":exception-type", "b"),
    ]
    .concat();
    assert_eq!(frames(Framing::Aws, sealed(&exception, b"no")), [Frame::exception("b", "no")]);

    let error = [
        string_header(":error-code", "InternalFailure"),
        string_header(":error-message", "a \"quoted\" reason"),
        kind("error"),
    ]
    .concat();
    let expected = Frame::exception("InternalFailure", r#"{"message":"a \"quoted\" reason"}"#);
    assert_eq!(frames(Framing::Aws, sealed(&error, b"")), [expected]);
    let bare = Frame { name: None, exception: true, data: r#"{"message":""}"#.to_owned() };
    assert_eq!(frames(Framing::Aws, sealed(&kind("error"), b"")), [bare]);

    assert_eq!(frames(Framing::Aws, sealed(&[], b"1")), [Frame::data("1")]);

    for malformed in [
        kind("other"),
        [kind("event"), kind("exception")].concat(),
        header(":message-type", 6, b"event"),
    ] {
        let (_, result) = read(Framing::Aws, sealed(&malformed, b"1"));
        assert_eq!(result, Err(FrameError::Malformed));
    }
}

#[test]
fn aws_lengths_are_checked_before_they_are_used() {
    let most = u32::try_from(MAX_FRAME).unwrap();
    for (total, headers, error) in [
        (0, 0, FrameError::Malformed),
        (15, 0, FrameError::Malformed),
        (16, 1, FrameError::Malformed),
        (100, 85, FrameError::Malformed),
        (100, u32::MAX, FrameError::Malformed),
        (most + 1, 0, FrameError::TooLarge),
        (u32::MAX, u32::MAX, FrameError::TooLarge),
        (most, 0, FrameError::Truncated),
        (100, 84, FrameError::Truncated),
    ] {
        let mut bytes = sealed_as(total, headers, &[], &[]);
        bytes.truncate(12);
        assert_eq!(read(Framing::Aws, bytes), (vec![], Err(error)), "{total} {headers}");
    }
    assert_eq!(frames(Framing::Aws, sealed(&[], &[])), [Frame::data("")]);
}

#[test]
fn frames_past_the_limit_are_refused() {
    let chunk = vec![b'x'; 1 << 20];
    for (framing, start, between) in [
        (Framing::Sse, "data: ", ""),
        (Framing::Sse, "event: ", ""),
        (Framing::Sse, ":", ""),
        (Framing::Sse, "data: ", "\ndata: "),
        (Framing::Sse, "data: x\nevent: ", "\ndata: "),
        (Framing::Ndjson, "", ""),
        (Framing::Array, "[{", ""),
    ] {
        let mut reader = FrameReader::new(framing);
        let mut frames = Vec::new();
        reader.push(start.as_bytes(), &mut frames).unwrap();
        for _ in 0..MAX_FRAME / chunk.len() - 1 {
            reader.push(&chunk, &mut frames).unwrap();
            reader.push(between.as_bytes(), &mut frames).unwrap();
        }
        reader.push(&chunk[..chunk.len() - 200], &mut frames).unwrap();
        let error = reader.push(&chunk[..201], &mut frames).unwrap_err();
        assert_eq!(error, FrameError::TooLarge, "{framing:?} {start:?} {between:?}");
        assert_eq!(frames, []);
        // The reader does not resume in the middle of a frame.
        assert_eq!(reader.push(b"\n\n{}\n", &mut frames), Err(error));
        assert_eq!(reader.finish(&mut frames), Err(error));
        assert_eq!(frames, []);
    }
}

#[test]
fn reading_byte_by_byte_takes_linear_time() {
    for framing in Framing::ALL {
        growth::assert_not_quadratic(1 << 20, |size| {
            let long = Frame::data(format!("{{\"x\":\"{}\"}}", "x".repeat(size)));
            let bytes = written(framing, std::slice::from_ref(&long));
            let (frames, result) = read_chunks(framing, bytes.chunks(1));
            assert_eq!(result, Ok(()));
            assert!(frames == [long], "{framing:?}");
        });
    }
}

#[test]
fn content_types_are_the_vendors() {
    let types = Framing::ALL.map(Framing::content_type);
    let expected = [
        "text/event-stream",
        "application/vnd.amazon.eventstream",
        "application/x-ndjson",
        "application/json",
    ];
    assert_eq!(types, expected);
}
