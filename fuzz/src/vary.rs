//! Structure-aware mutation. Randomly changed bytes are seldom JSON, and binary frames never have a
//! valid checksum.

mod tree;

use libfuzzer_sys::fuzzer_mutate;
use toolwright_core::Json;
use toolwright_dialects::frame::{Frame, FrameReader, FrameWriter, Framing};

use crate::dice::Dice;
use crate::input;

/// Mutates an input that is a line and a JSON document.
pub fn document(data: &mut [u8], size: usize, room: usize, seed: u32) -> usize {
    let mut dice = Dice::new(seed);
    let start = input::document_start(&data[..size]);
    let parsed = Json::parse_bytes(&data[start..size]);
    match parsed {
        Ok(mut value) if !dice.once_in(8) => {
            for _ in 0..=dice.below(3) {
                tree::vary(&mut value, &mut dice);
            }
            replace(data, start, value.to_string().as_bytes(), size, room)
        }
        _ => fuzzer_mutate(data, size, room),
    }
}

/// Inserts a value of one document into another.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let mut dice = Dice::new(seed);
    let start = input::document_start(one);
    let values = (
        Json::parse_bytes(&one[start..]),
        Json::parse_bytes(&other[input::document_start(other)..]),
    );
    let (Ok(mut value), Ok(mut other)) = values else { return 0 };
    tree::graft(&mut value, &mut other, &mut dice);
    let text = value.to_string();
    if start + text.len() > out.len() {
        return 0;
    }
    out[..start].copy_from_slice(&one[..start]);
    replace(out, start, text.as_bytes(), 0, out.len())
}

/// Mutates an input that is a number of selectors and a stream in some framing.
pub fn stream(
    start: usize,
    framing: Framing,
    data: &mut [u8],
    size: usize,
    room: usize,
    seed: u32,
) -> usize {
    let mut dice = Dice::new(seed);
    let mut frames = read(framing, data.get(start..size).unwrap_or_default());
    if frames.is_empty() || dice.once_in(8) {
        return fuzzer_mutate(data, size, room);
    }
    for _ in 0..=dice.below(3) {
        vary_frames(&mut frames, &mut dice);
    }
    let mut bytes = Vec::new();
    let mut writer = FrameWriter::new(framing);
    for frame in &frames {
        writer.write(frame, &mut bytes);
    }
    writer.end(&mut bytes);
    replace(data, start, &bytes, size, room)
}

/// The frames that can be decoded.
fn read(framing: Framing, bytes: &[u8]) -> Vec<Frame> {
    let mut reader = FrameReader::new(framing);
    let mut frames = Vec::new();
    if reader.push(bytes, &mut frames).is_ok() {
        let _ = reader.finish(&mut frames);
    }
    frames
}

fn vary_frames(frames: &mut Vec<Frame>, dice: &mut Dice) {
    if frames.is_empty() {
        return;
    }
    let at = dice.below(frames.len());
    let other = dice.below(frames.len());
    match dice.below(10) {
        0 => drop(frames.remove(at)),
        1 => frames.insert(other, frames[at].clone()),
        2 => frames.swap(at, other),
        3 => frames.truncate(at),
        4 => frames[at].name = Some(tree::word(dice).to_owned()),
        5 => frames[at].exception ^= true,
        _ => match Json::parse(&frames[at].data) {
            Ok(mut value) => {
                tree::vary(&mut value, dice);
                frames[at].data = value.to_string();
            }
            Err(_) => frames[at].data = frames[other].data.clone(),
        },
    }
}

/// Writes `bytes` at `start`, unless they do not fit.
fn replace(data: &mut [u8], start: usize, bytes: &[u8], size: usize, room: usize) -> usize {
    let end = start + bytes.len();
    if end > room.min(data.len()) {
        return size;
    }
    data[start..end].copy_from_slice(bytes);
    end
}
