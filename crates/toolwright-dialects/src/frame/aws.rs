//! The AWS event stream, in which Bedrock streams.
//!
//! ```text
//! u32 total | u32 headers | u32 crc of these two | headers | payload | u32 crc of all before it
//! ```
//!
//! All numbers are big-endian. A header is `u8` length and name, `u8` type, value.

use toolwright_json::object;

use super::{Frame, FrameError, MAX_FRAME, text};

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// The type of a header whose value is a string
const STRING: u8 = 7;
/// Maximum length of a string that every reader accepts in a header: the length may be read as
/// signed
const MAX_STRING: usize = 0x7FFF;

/// Splits bytes into messages by their declared lengths.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The bytes of an incomplete message
    partial: Vec<u8>,
    /// The lengths of the message, once they are verified
    lengths: Option<Lengths>,
}

#[derive(Debug, Clone, Copy)]
struct Lengths {
    /// Of the whole message
    total: usize,
    /// Of the headers
    headers: usize,
}

impl Reader {
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        frames: &mut Vec<Frame>,
    ) -> Result<(), FrameError> {
        loop {
            let wanted = self.lengths.map_or(PRELUDE, |lengths| lengths.total);
            let taken = bytes.len().min(wanted - self.partial.len());
            self.partial.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.partial.len() < wanted {
                return Ok(());
            }
            if let Some(lengths) = self.lengths.take() {
                frames.push(message(&self.partial, lengths)?);
                self.partial.clear();
            } else {
                self.lengths = Some(prelude(&self.partial)?);
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), FrameError> {
        if self.is_between() { Ok(()) } else { Err(FrameError::Truncated) }
    }

    pub(super) fn is_between(&self) -> bool {
        self.partial.is_empty()
    }
}

/// Verifies the prelude, so that no length is used before its checksum is verified.
fn prelude(mut bytes: &[u8]) -> Result<Lengths, FrameError> {
    let expected = crc32fast::hash(&bytes[..PRELUDE - CHECKSUM]);
    let mut word = || chunk(&mut bytes).map(u32::from_be_bytes);
    let (total, headers, checksum) = (word()?, word()?, word()?);
    if checksum != expected {
        return Err(FrameError::Checksum);
    }
    let total = usize::try_from(total).map_err(|_| FrameError::TooLarge)?;
    let headers = usize::try_from(headers).map_err(|_| FrameError::TooLarge)?;
    if total > MAX_FRAME {
        return Err(FrameError::TooLarge);
    }
    match total.checked_sub(PRELUDE + CHECKSUM) {
        Some(room) if headers <= room => Ok(Lengths { total, headers }),
        _ => Err(FrameError::Malformed),
    }
}

/// Decodes a complete message.
fn message(bytes: &[u8], lengths: Lengths) -> Result<Frame, FrameError> {
    let (body, checksum) = bytes.split_last_chunk().ok_or(FrameError::Malformed)?;
    if crc32fast::hash(body) != u32::from_be_bytes(*checksum) {
        return Err(FrameError::Checksum);
    }
    let (headers, payload) = body[PRELUDE..].split_at(lengths.headers);
    let headers = Headers::read(headers)?;
    let name = |value: Option<&[u8]>| value.map(|value| text(value).map(str::to_owned)).transpose();
    match headers.message_type {
        None | Some(b"event") => Ok(Frame {
            name: name(headers.event_type)?,
            exception: false,
            data: text(payload)?.to_owned(),
        }),
        Some(b"exception") => Ok(Frame {
            name: name(headers.exception_type)?,
            exception: true,
            data: text(payload)?.to_owned(),
        }),
        // An error that the service does not model is in the headers only.
        Some(b"error") => Ok(Frame {
            name: name(headers.error_code)?,
            exception: true,
            data: object! {"message": text(headers.error_message.unwrap_or_default())?}.compact(),
        }),
        Some(_) => Err(FrameError::Malformed),
    }
}

/// The relevant headers. They are compared as bytes, because a stream repeats them in every
/// message.
#[derive(Default)]
struct Headers<'m> {
    message_type: Option<&'m [u8]>,
    event_type: Option<&'m [u8]>,
    exception_type: Option<&'m [u8]>,
    error_code: Option<&'m [u8]>,
    error_message: Option<&'m [u8]>,
}

impl<'m> Headers<'m> {
    fn read(mut bytes: &'m [u8]) -> Result<Headers<'m>, FrameError> {
        let mut headers = Headers::default();
        while !bytes.is_empty() {
            let [length] = chunk(&mut bytes)?;
            let name = checked(take(&mut bytes, usize::from(length))?)?;
            let value = header_value(&mut bytes)?;
            let slot = match name {
                b":message-type" => &mut headers.message_type,
                b":event-type" => &mut headers.event_type,
                b":exception-type" => &mut headers.exception_type,
                b":error-code" => &mut headers.error_code,
                b":error-message" => &mut headers.error_message,
                // The payload is text for any `:content-type`, and other headers are ignored.
                _ => continue,
            };
            // Each of these is a string and occurs once; otherwise the message is ambiguous.
            if value.is_none() || slot.is_some() {
                return Err(FrameError::Malformed);
            }
            *slot = value;
        }
        Ok(headers)
    }
}

/// Reads a header value of any type; returns it if it is a string.
fn header_value<'m>(bytes: &mut &'m [u8]) -> Result<Option<&'m [u8]>, FrameError> {
    let [kind] = chunk(bytes)?;
    let length = match kind {
        // true, false
        0 | 1 => 0,
        // byte, short, int
        2 => 1,
        3 => 2,
        4 => 4,
        // long, timestamp
        5 | 8 => 8,
        // bytes
        6 | STRING => usize::from(u16::from_be_bytes(chunk(bytes)?)),
        // uuid
        9 => 16,
        _ => return Err(FrameError::Malformed),
    };
    let value = take(bytes, length)?;
    if kind == STRING { checked(value).map(Some) } else { Ok(None) }
}

/// Verifies that bytes are UTF-8.
fn checked(bytes: &[u8]) -> Result<&[u8], FrameError> {
    if bytes.is_ascii() { Ok(bytes) } else { text(bytes).map(str::as_bytes) }
}

fn take<'m>(bytes: &mut &'m [u8], count: usize) -> Result<&'m [u8], FrameError> {
    bytes.split_off(..count).ok_or(FrameError::Malformed)
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], FrameError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(FrameError::Malformed)?;
    *bytes = rest;
    Ok(*head)
}

/// Appends a message with the three headers of Bedrock, in its order.
pub(super) fn write(frame: &Frame, out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(frame.data.len() + frame.name.as_deref().map_or(0, str::len) + 128);
    out.extend_from_slice(&[0; PRELUDE]);
    let (label, kind) =
        if frame.exception { (":exception-type", "exception") } else { (":event-type", "event") };
    if let Some(name) = &frame.name {
        write_header(label, name, out);
    }
    write_header(":content-type", "application/json", out);
    write_header(":message-type", kind, out);
    let headers = length(out.len() - start - PRELUDE);
    out.extend_from_slice(frame.data.as_bytes());
    let total = length(out.len() - start + CHECKSUM);

    let message = &mut out[start..];
    message[..4].copy_from_slice(&total);
    message[4..8].copy_from_slice(&headers);
    let checksum = crc32fast::hash(&message[..8]);
    message[8..PRELUDE].copy_from_slice(&checksum.to_be_bytes());
    let checksum = crc32fast::hash(message);
    out.extend_from_slice(&checksum.to_be_bytes());
}

fn write_header(name: &str, value: &str, out: &mut Vec<u8>) {
    let value = &value[..value.floor_char_boundary(MAX_STRING)];
    out.push(u8::try_from(name.len()).unwrap_or_default());
    out.extend_from_slice(name.as_bytes());
    out.push(STRING);
    out.extend(u16::try_from(value.len()).unwrap_or_default().to_be_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// Encodes a length, which fits 32 bits: a payload has at most [`MAX_FRAME`] bytes.
fn length(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()
}
