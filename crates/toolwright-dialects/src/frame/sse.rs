//! Server-sent events, by the parsing rules of the WHATWG HTML standard, with two differences: a
//! last event without its blank line is delivered, since vendors omit it, and bytes that are not
//! UTF-8 are refused instead of replaced.

use memchr::{memchr, memchr2};

use super::{Frame, FrameError, MAX_FRAME, cut_off, text};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Splits bytes at LF, CR or CRLF and collects lines into events.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The bytes of an incomplete line
    partial: Vec<u8>,
    /// Whether the first line, which may start with a byte order mark, has ended
    started: bool,
    /// Whether the last line ended in CR, so that an LF belongs to it
    after_cr: bool,
    /// The name of the current event, empty if it has none
    name: String,
    /// The data of the current event
    data: Option<String>,
    /// The last `id` of the stream
    pub(super) last_id: Option<String>,
    /// The last `retry` of the stream, in milliseconds
    pub(super) retry_ms: Option<u64>,
}

impl Reader {
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        frames: &mut Vec<Frame>,
    ) -> Result<(), FrameError> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(at) = find_break(bytes) else {
                self.check_room(bytes.len())?;
                self.partial.extend_from_slice(bytes);
                break;
            };
            self.check_room(at)?;
            self.after_cr = bytes[at] == b'\r';
            let head = &bytes[..at];
            if self.partial.is_empty() {
                self.line(head, frames)?;
            } else {
                let mut line = std::mem::take(&mut self.partial);
                line.extend_from_slice(head);
                self.line(&line, frames)?;
                line.clear();
                self.partial = line;
            }
            bytes = &bytes[at + 1..];
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        let line = std::mem::take(&mut self.partial);
        if !line.is_empty() {
            self.line(&line, frames).map_err(|error| cut_off(&line, error))?;
        }
        self.dispatch(frames);
        Ok(())
    }

    pub(super) fn is_between(&self) -> bool {
        self.partial.is_empty() && self.data.is_none() && self.name.is_empty()
    }

    /// Processes a line without its terminator.
    fn line(&mut self, line: &[u8], frames: &mut Vec<Frame>) -> Result<(), FrameError> {
        let line = if std::mem::replace(&mut self.started, true) {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        };
        if line.is_empty() {
            self.dispatch(frames);
            return Ok(());
        }
        // A comment is a field without a name, which is ignored.
        let (field, value) = match memchr(b':', line) {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(text(value)?);
                }
                none => *none = Some(text(value)?.to_owned()),
            },
            b"event" => text(value)?.clone_into(&mut self.name),
            b"id" if !value.contains(&0) => self.last_id = Some(text(value)?.to_owned()),
            b"retry" => {
                let is_number = value.iter().all(u8::is_ascii_digit);
                self.retry_ms = text(value)?.parse().ok().filter(|_| is_number).or(self.retry_ms);
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the event; one without data is dropped.
    fn dispatch(&mut self, frames: &mut Vec<Frame>) {
        let name = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            let name = (!name.is_empty()).then_some(name);
            frames.push(Frame { name, exception: false, data });
        }
    }

    fn check_room(&self, more: usize) -> Result<(), FrameError> {
        let gathered = self.name.len() + self.data.as_ref().map_or(0, String::len);
        if gathered + self.partial.len() + more > MAX_FRAME {
            return Err(FrameError::TooLarge);
        }
        Ok(())
    }
}

/// Appends an event. A carriage return would end the line for the reader, so it is written as a
/// line break; in JSON both are white space.
pub(super) fn write(frame: &Frame, out: &mut Vec<u8>) {
    out.reserve(frame.data.len() + frame.name.as_deref().map_or(0, str::len) + 24);
    if let Some(name) = frame.name.as_deref().filter(|name| !name.is_empty()) {
        out.extend_from_slice(b"event: ");
        if find_break(name.as_bytes()).is_none() {
            out.extend_from_slice(name.as_bytes());
        } else {
            out.extend(name.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
        }
        out.push(b'\n');
    }
    if memchr(b'\r', frame.data.as_bytes()).is_some() {
        write_data(&frame.data.replace("\r\n", "\n").replace('\r', "\n"), out);
    } else {
        write_data(&frame.data, out);
    }
    out.push(b'\n');
}

fn find_break(bytes: &[u8]) -> Option<usize> {
    memchr2(b'\n', b'\r', bytes)
}

fn write_data(data: &str, out: &mut Vec<u8>) {
    let mut rest = data.as_bytes();
    loop {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&rest[..end]);
        out.push(b'\n');
        if end == rest.len() {
            return;
        }
        rest = &rest[end + 1..];
    }
}
