//! Any bytes through each framing: no panic, the same frames at any split of the bytes, and written
//! frames are read back.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use toolwright_dialects::frame::{Frame, FrameError, FrameReader, FrameWriter, Framing};
use toolwright_fuzz::{input, vary};

fuzz_target!(|data: &[u8]| {
    let Some((&[which, piece], bytes)) = input::selectors(data) else { return };
    let framing = framing(which);
    let whole = read(framing, [bytes]);
    assert_eq!(read(framing, bytes.chunks(input::number(piece).max(1))), whole);

    let (mut frames, _) = whole;
    if framing == Framing::Ndjson {
        // Within a line it is white space, and is written as such.
        frames.iter_mut().for_each(|frame| frame.data = frame.data.replace('\r', " "));
    }
    let mut written = Vec::new();
    let mut writer = FrameWriter::new(framing);
    for frame in &frames {
        writer.write(frame, &mut written);
    }
    writer.end(&mut written);
    assert_eq!(read(framing, [&written[..]]), (frames, Ok(())));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let framing = framing(data[0]);
    vary::stream(2, framing, data, size, max_size, seed)
});

fn framing(selector: u8) -> Framing {
    Framing::ALL[input::number(selector) % Framing::ALL.len()]
}

fn read<'b>(
    framing: Framing,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut reader = FrameReader::new(framing);
    let mut frames = Vec::new();
    let mut result = Ok(());
    for piece in pieces {
        result = result.and(reader.push(piece, &mut frames));
    }
    result = result.and(reader.finish(&mut frames));
    (frames, result)
}
