//! Law 5: any split of the bytes gives the same frames, no prefix causes a panic, and written
//! frames are read back.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_core::object;
use toolwright_dialects::frame::{Frame, FrameReader, Framing};

use crate::frame::{RECORDED, header, read, read_chunks, recorded, sealed, string_header, written};

/// Cuts `bytes` at the given offsets, taken modulo its length.
fn cut<'b>(bytes: &'b [u8], places: &[usize]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let ends = places.iter().copied().chain([bytes.len()]);
    let starts = [0].into_iter().chain(places.iter().copied());
    starts.zip(ends).map(|(start, end)| &bytes[Range { start, end }]).collect()
}

/// Bytes composed of the characters that are significant in line framings.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            &b"data"[..],
            b"data:",
            b"data: ",
            b"event: ",
            b"event",
            b": ",
            b":",
            b" ",
            b"\n",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"\xEF\xBB\xBF",
            "北京🙂".as_bytes(),
            b"\xF0\x9F",
            b"{\"a\":1}",
        ])
        .prop_map(<[u8]>::to_vec),
        "[a-z]{0,40}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// AWS messages with valid checksums, most with valid headers, and some with a flipped bit.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![
        ":message-type",
        ":event-type",
        ":exception-type",
        ":error-code",
        ":error-message",
        ":content-type",
        "x",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec!["event", "exception", "error"])
            .prop_map(|value| (7, value.as_bytes().to_vec())),
        (0u8..11, vec(any::<u8>(), 0..20)),
    ];
    let headers = vec((name, value), 0..4).prop_map(|headers| {
        let headers = headers.iter().map(|(name, (kind, value))| header(name, *kind, value));
        headers.collect::<Vec<_>>().concat()
    });
    let headers = prop_oneof![
        frame().prop_map(|frame| {
            let label = if frame.exception { ":exception-type" } else { ":event-type" };
            string_header(label, frame.name.as_deref().unwrap_or_default())
        }),
        headers,
        vec(any::<u8>(), 0..40),
    ];
    let payload = prop_oneof![".{0,20}".prop_map(String::into_bytes), vec(any::<u8>(), 0..20)];
    let message = (headers, payload).prop_map(|(headers, payload)| sealed(&headers, &payload));
    let wrong = proptest::option::weighted(0.2, (any::<usize>(), 0u8..8));
    (vec(message, 0..5), wrong).prop_map(|(messages, wrong)| {
        let mut bytes = messages.concat();
        if let Some((at, bit)) = wrong
            && !bytes.is_empty()
        {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
        }
        bytes
    })
}

/// Any stream in any framing: recorded, almost valid, or random.
fn stream() -> impl Strategy<Value = (Framing, Vec<u8>)> {
    let framing = prop::sample::select(Framing::ALL.to_vec());
    prop_oneof![
        prop::sample::select(RECORDED.to_vec())
            .prop_map(|(framing, file, _)| (framing, recorded(file))),
        lines().prop_map(|bytes| (Framing::Sse, bytes)),
        lines().prop_map(|bytes| (Framing::Ndjson, bytes)),
        objects().prop_map(|bytes| (Framing::Array, bytes)),
        messages().prop_map(|bytes| (Framing::Aws, bytes)),
        (framing, vec(any::<u8>(), 0..200)),
    ]
}

/// Bytes composed of the characters of an array of objects.
fn objects() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"["[..],
        b"]",
        b"{",
        b"}",
        b"},{",
        b",",
        b"\n,\r\n",
        b"\"",
        b"\\",
        b"\\\"",
        b"{\"a\":[1,{}]}",
        "北京🙂".as_bytes(),
        b"\xF0\x9F",
    ]);
    (any::<bool>(), vec(piece, 0..40)).prop_map(|(sound, pieces)| {
        let start = if sound { &b"[{"[..] } else { b"" };
        [start, &pieces.concat()].concat()
    })
}

/// Any frame that all framings can express, apart from its name, the exception mark, and the
/// delimiters of an array.
fn frame() -> impl Strategy<Value = Frame> {
    let data = prop_oneof![any::<String>(), "[\\[\\]{}:,\" \n0-9a-z\u{4e00}-\u{4eff}]{0,80}"];
    let name = proptest::option::of(prop_oneof!["[a-zA-Z_.-]{1,30}", any::<String>()]);
    (name, any::<bool>(), data).prop_map(|(name, exception, data)| Frame { name, exception, data })
}

/// The part of a frame that a framing can express.
fn sayable(framing: Framing, frame: &Frame) -> Option<Frame> {
    let mut frame = frame.clone();
    match framing {
        Framing::Aws => {}
        Framing::Sse => {
            frame.exception = false;
            frame.data = frame.data.replace('\r', "");
            let name = frame.name.map(|name| name.replace(['\r', '\n'], ""));
            frame.name = name.filter(|name| !name.is_empty());
        }
        Framing::Array => frame = Frame::data(object! {"data": frame.data}.compact()),
        Framing::Ndjson => {
            frame = Frame::data(frame.data.replace(['\r', '\n'], ""));
            if frame.data.as_bytes().trim_ascii().is_empty() {
                return None;
            }
        }
    }
    Some(frame)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_split_gives_the_same_frames_law_5(
        (framing, bytes) in stream(),
        places in vec(any::<usize>(), 0..12),
    ) {
        let whole = read(framing, &bytes);
        prop_assert_eq!(&read_chunks(framing, cut(&bytes, &places)), &whole);
        prop_assert_eq!(&read_chunks(framing, bytes.chunks(1)), &whole);
    }

    #[test]
    fn any_prefix_gives_the_first_frames_law_5((framing, bytes) in stream(), end in any::<usize>()) {
        let (whole, _) = read(framing, &bytes);
        let prefix = &bytes[..end % (bytes.len() + 1)];
        let mut reader = FrameReader::new(framing);
        let mut frames = Vec::new();
        let result = reader.push(prefix, &mut frames);
        prop_assert!(whole.starts_with(&frames));
        // At the end of the input, at most the incomplete next frame is added.
        let before = frames.len();
        let end = reader.finish(&mut frames);
        prop_assert!(frames.len() <= before + 1);
        prop_assert!(result.is_ok() || end == result);
    }

    #[test]
    fn any_bytes_give_no_panic_law_5(bytes in vec(any::<u8>(), 0..2000)) {
        for framing in Framing::ALL {
            let (frames, _) = read(framing, &bytes);
            let size: usize = frames.iter().map(|frame| frame.data.len()).sum();
            prop_assert!(size <= bytes.len());
        }
    }

    #[test]
    fn what_is_written_is_read_law_5(given in vec(frame(), 0..6), places in vec(any::<usize>(), 0..6)) {
        for framing in Framing::ALL {
            let given: Vec<Frame> =
                given.iter().filter_map(|frame| sayable(framing, frame)).collect();
            let bytes = written(framing, &given);
            let got = read_chunks(framing, cut(&bytes, &places));
            prop_assert_eq!(got, (given, Ok(())));
        }
    }
}
