//! Any bytes as a stream in each dialect: no panic, events that follow the grammar, the same events
//! at any split of the bytes, and each other dialect encodes them as frames that it can decode.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use toolwright_core::Arguments;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Event, law};
use toolwright_dialects::dialect::{ChatCodec, ReplyContext, Target};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::fit::restore::Restorer;
use toolwright_dialects::frame::{Frame, FrameReader, FrameWriter};
use toolwright_fuzz::{input, vary};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&[from, to, piece], bytes)) = input::selectors(data) else { return Corpus::Reject };
    let (Some(from), Some(to)) = (input::codec(from), input::codec(to)) else {
        return Corpus::Reject;
    };
    let (events, _) = decode(from, [bytes]);
    check(&events);
    assert_eq!(decode(from, bytes.chunks(input::number(piece).max(1))).0, events);
    if let Ok(response) = join(events.clone()) {
        assert_eq!(join(split(response.clone())), Ok(response));
    }

    let restored = restore(from, to, events);
    check(&restored);
    let sound = join(restored.clone()).is_ok_and(|response| {
        let mut calls = response.parts.iter().filter_map(|part| part.as_call());
        !calls.any(|call| matches!(call.arguments, Arguments::Malformed(_)))
    });
    let frames = encode(to, restored);
    let mut written = Vec::new();
    let mut writer = FrameWriter::new(to.framing());
    for frame in &frames {
        writer.write(frame, &mut written);
    }
    writer.end(&mut written);
    let (events, errors) = decode(to, [&written[..]]);
    check(&events);
    // If arguments are not JSON, a decoder may take their end for the beginning of another call.
    assert!(errors == 0 || !sound, "{}", String::from_utf8_lossy(&written));
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match input::codec(data[0]) {
        Some(codec) => vary::stream(3, codec.framing(), data, size, max_size, seed),
        None => size,
    }
});

fn check(events: &[Event]) {
    if let Err(broken) = law::check(events) {
        panic!("{broken}: {events:#?}");
    }
}

/// The events of all frames that can be decoded, and the number of frames that cannot. A caller may
/// continue after such a frame, so the grammar must still hold.
fn decode<'b>(
    codec: &dyn ChatCodec,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<Event>, usize) {
    let mut reader = FrameReader::new(codec.framing());
    let mut frames = Vec::new();
    let mut read = Ok(());
    for piece in pieces {
        read = read.and(reader.push(piece, &mut frames));
    }
    read = read.and(reader.finish(&mut frames));
    let mut decoder = codec.stream_decoder();
    let mut events = Vec::new();
    let mut errors = usize::from(read.is_err());
    for frame in &frames {
        errors += usize::from(decoder.decode(frame, &mut events).is_err());
    }
    decoder.finish(&mut events);
    (events, errors)
}

fn restore(from: &dyn ChatCodec, to: &dyn ChatCodec, events: Vec<Event>) -> Vec<Event> {
    let target = Target::default();
    let mut restorer =
        Restorer::new(Aliases::default(), &from.profile(&target), to.profile(&target));
    let mut restored = Vec::new();
    for event in events {
        restorer.event(event, &mut restored);
    }
    restored
}

fn encode(codec: &dyn ChatCodec, events: Vec<Event>) -> Vec<Frame> {
    let asked = ReplyContext { stream_usage: true, ..ReplyContext::default() };
    let mut encoder = codec.stream_encoder(&asked);
    let mut frames = Vec::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    frames
}
