//! Reads `multipart/form-data` (RFC 7578) as it arrives. Memory use does not depend on the size of a part.
//!
//! [`Parser`] works on bytes in any split; [`Form`] feeds it the chunks of a body.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, header};
use memchr::memmem;
use toolwright_core::{Fault, FaultClass, percent};

use super::body::BodyChunks;

/// Maximum size of the headers of a part in bytes.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Maximum number of parts.
const MAX_PARTS: usize = 32;

/// Maximum length of a boundary (RFC 2046).
const MAX_BOUNDARY: usize = 70;

/// The head of a part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartHead {
    /// The name of the field
    pub name: String,
    /// The name of the file, if it is one
    pub filename: Option<String>,
    /// The media type
    pub content_type: Option<String>,
}

/// A piece of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormItem {
    /// A part begins
    Part(PartHead),
    /// Bytes of the part
    Data(Bytes),
}

/// The form in a body.
pub struct Form {
    chunks: BodyChunks,
    parser: Parser,
}

impl Form {
    /// Reads the form in the chunks of a body with these headers.
    pub fn new(headers: &HeaderMap, chunks: BodyChunks) -> Result<Form, Fault> {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|own| own.to_str().ok());
        let boundary = content_type.and_then(boundary).ok_or_else(|| {
            malformed("The header `content-type` must be `multipart/form-data` with a boundary.")
        })?;
        Ok(Form { chunks, parser: Parser::new(&boundary) })
    }

    /// Returns the next piece, or `None` after the last part.
    pub async fn next(&mut self) -> Result<Option<FormItem>, Fault> {
        loop {
            match self.parser.next()? {
                Step::Item(item) => return Ok(Some(item)),
                Step::End => {
                    // The epilogue has no meaning, but belongs to the body.
                    while self.chunks.next().await?.is_some() {}
                    return Ok(None);
                }
                Step::NeedsMore => match self.chunks.next().await? {
                    Some(chunk) => self.parser.feed(&chunk),
                    None => return Err(malformed("The form breaks off before its last boundary.")),
                },
            }
        }
    }
}

/// The boundary that a media type names.
fn boundary(content_type: &str) -> Option<String> {
    let (essence, rest) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let found = parameters(rest).into_iter().find(|(name, _)| name == "boundary")?.1;
    (1..=MAX_BOUNDARY).contains(&found.len()).then_some(found)
}

/// A parser of forms.
struct Parser {
    /// A line break, two hyphens and the boundary
    delimiter: Vec<u8>,
    buffer: BytesMut,
    state: State,
    parts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first delimiter
    Preamble,
    /// After a delimiter
    Delimiter,
    /// In the headers of a part
    Headers,
    /// In the content of a part
    Content,
    /// After the last delimiter
    End,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Item(FormItem),
    NeedsMore,
    End,
}

impl Parser {
    fn new(boundary: &str) -> Parser {
        // The first delimiter may be without its line break.
        let buffer = BytesMut::from(&b"\r\n"[..]);
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Parser { delimiter, buffer, state: State::Preamble, parts: 0 }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn next(&mut self) -> Result<Step, Fault> {
        loop {
            match self.state {
                State::Preamble | State::Content => {
                    let found = memmem::find(&self.buffer, &self.delimiter);
                    // The end of the buffer may be the beginning of a delimiter.
                    let open = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
                    let content = self.buffer.split_to(found.unwrap_or(open)).freeze();
                    let is_part = self.state == State::Content;
                    if found.is_some() {
                        self.buffer.advance(self.delimiter.len());
                        self.state = State::Delimiter;
                    }
                    if is_part && !content.is_empty() {
                        return Ok(Step::Item(FormItem::Data(content)));
                    }
                    if found.is_none() {
                        return Ok(Step::NeedsMore);
                    }
                }
                State::Delimiter => {
                    if self.buffer.starts_with(b"--") {
                        self.state = State::End;
                    } else if let Some(end) = memmem::find(&self.buffer, b"\r\n") {
                        if !self.buffer[..end].iter().all(|own| matches!(own, b' ' | b'\t')) {
                            return Err(malformed(
                                "A boundary of the form has no line of its own.",
                            ));
                        }
                        // The line break stays, so that headers end with an empty line even if
                        // there are none.
                        self.buffer.advance(end);
                        self.state = State::Headers;
                    } else if self.buffer.len() > MAX_HEADER_BYTES {
                        return Err(malformed("A boundary of the form has no line of its own."));
                    } else {
                        return Ok(Step::NeedsMore);
                    }
                }
                State::Headers => {
                    let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") else {
                        if self.buffer.len() > MAX_HEADER_BYTES {
                            return Err(malformed("The headers of a part are too long."));
                        }
                        return Ok(Step::NeedsMore);
                    };
                    if end > MAX_HEADER_BYTES {
                        return Err(malformed("The headers of a part are too long."));
                    }
                    self.parts += 1;
                    if self.parts > MAX_PARTS {
                        return Err(malformed("The form has too many parts."));
                    }
                    let head = head(&self.buffer[..end])?;
                    self.buffer.advance(end + b"\r\n\r\n".len());
                    self.state = State::Content;
                    return Ok(Step::Item(FormItem::Part(head)));
                }
                State::End => return Ok(Step::End),
            }
        }
    }
}

/// Reads the headers of a part, each after a line break.
fn head(bytes: &[u8]) -> Result<PartHead, Fault> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| malformed("The headers of a part are not UTF-8."))?;
    let mut head = PartHead::default();
    let mut is_form_data = false;
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else {
            return Err(malformed("A header of a part has no colon."));
        };
        if name.trim().eq_ignore_ascii_case("content-type") {
            head.content_type = Some(value.trim().to_owned());
        } else if name.trim().eq_ignore_ascii_case("content-disposition") {
            let (kind, rest) = value.split_once(';').unwrap_or((value, ""));
            is_form_data = kind.trim().eq_ignore_ascii_case("form-data");
            for (name, value) in parameters(rest) {
                match name.as_str() {
                    "name" => head.name = value,
                    "filename" => _ = head.filename.get_or_insert(value),
                    // RFC 5987: the charset, a language and the percent-encoded text
                    "filename*" => {
                        // A malformed one does not replace the plain name.
                        let name = value.splitn(3, '\'').nth(2).map(percent::decode);
                        head.filename = name.or(head.filename);
                    }
                    _ => {}
                }
            }
        }
    }
    if !is_form_data {
        return Err(malformed("A part has no header `content-disposition: form-data`."));
    }
    Ok(head)
}

/// Reads the parameters of a header: names in lower case, values without their quotes.
fn parameters(text: &str) -> Vec<(String, String)> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((name, after)) = rest.split_once('=') {
        let (value, remaining) = if let Some(quoted) = after.trim_start().strip_prefix('"') {
            unquote(quoted)
        } else {
            let (value, remaining) = after.split_once(';').unwrap_or((after, ""));
            (value.trim().to_owned(), remaining)
        };
        let name = name.trim_matches(|own: char| own == ';' || own.is_whitespace());
        found.push((name.to_ascii_lowercase(), value));
        rest = remaining;
    }
    found
}

/// Reads a quoted text to its closing quote. Clients escape a quote as `\"` or as `%22`.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value.replace("%22", "\""), &text[at + 1..]),
            '\\' => match letters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push('\\'),
            },
            _ => value.push(letter),
        }
    }
    (value, "")
}

fn malformed(message: &str) -> Fault {
    Fault { status: Some(422), ..Fault::new(FaultClass::Invalid, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"preamble\r\n--b\r\n\
        Content-Disposition: form-data; name=\"ttl\"\r\n\r\n\
        3600\r\n--b \t\r\n\
        content-disposition: form-data; name=\"file\"; filename=\"a\\\"b.txt\"\r\n\
        Content-Type: text/plain\r\n\r\n\
        line\r\n--\r\n--not\r\n\r\n--b\r\n\
        Content-Disposition: form-data; name=empty; filename=\"C:\\x\"; filename*=UTF-8''%E6%8A%A5\r\n\r\n\
        \r\n--b--\r\nepilogue";

    /// The parts of a form with their content, fed in chunks of a size.
    fn read(form: &[u8], size: usize) -> Result<Vec<(PartHead, Vec<u8>)>, Fault> {
        let mut parser = Parser::new("b");
        let (mut parts, mut chunks) = (Vec::<(PartHead, Vec<u8>)>::new(), form.chunks(size));
        loop {
            match parser.next()? {
                Step::Item(FormItem::Part(head)) => parts.push((head, Vec::new())),
                Step::Item(FormItem::Data(data)) => {
                    parts.last_mut().unwrap().1.extend_from_slice(&data);
                }
                Step::End => return Ok(parts),
                Step::NeedsMore => match chunks.next() {
                    Some(chunk) => parser.feed(chunk),
                    None => return Err(malformed("end")),
                },
            }
        }
    }

    #[test]
    fn any_split_gives_the_same_parts() {
        let expected = vec![
            (PartHead { name: "ttl".into(), ..PartHead::default() }, b"3600".to_vec()),
            (
                PartHead {
                    name: "file".into(),
                    filename: Some("a\"b.txt".into()),
                    content_type: Some("text/plain".into()),
                },
                b"line\r\n--\r\n--not\r\n".to_vec(),
            ),
            (
                PartHead { name: "empty".into(), filename: Some("报".into()), content_type: None },
                Vec::new(),
            ),
        ];
        for size in 1..=FORM.len() {
            assert_eq!(read(FORM, size).unwrap(), expected, "in chunks of {size}");
        }
        for length in 0..FORM.len() - b"--\r\nepilogue".len() {
            assert!(read(&FORM[..length], 7).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_malformed_encoded_name_does_not_replace_the_plain_one() {
        for (names, expected) in [
            ("filename=a.txt; filename*=broken", "a.txt"),
            ("filename*=broken; filename=a.txt", "a.txt"),
            ("filename*=UTF-8''b.txt; filename=a.txt", "b.txt"),
        ] {
            let disposition = format!("content-disposition: form-data; name=a; {names}");
            let form = format!("--b\r\n{disposition}\r\n\r\n\r\n--b--");
            let parts = read(form.as_bytes(), 9).unwrap();
            assert_eq!(parts[0].0.filename.as_deref(), Some(expected), "{names}");
        }
    }

    #[test]
    fn a_form_with_excessive_or_malformed_heads_is_refused() {
        let part = |head: &str| format!("--b\r\n{head}\r\n\r\n\r\n--b--").into_bytes();
        let disposition = "content-disposition: form-data; name=a";
        assert!(read(&part(disposition), 9).is_ok());
        let many = format!("--b\r\n{disposition}\r\n\r\n\r\n").repeat(MAX_PARTS + 1);
        for (form, words) in [
            (part(""), "no header"),
            (part("content-disposition: attachment; name=a"), "no header"),
            (part("no colon"), "no colon"),
            (part(&format!("{disposition}\r\nx: {}", "y".repeat(MAX_HEADER_BYTES))), "too long"),
            (b"--bee\r\n\r\n".to_vec(), "no line of its own"),
            (many.into_bytes(), "too many parts"),
            (b"--b\r\ncontent-disposition: form-data; name=\xff\r\n\r\n".to_vec(), "UTF-8"),
        ] {
            let fault = read(&form, 100).unwrap_err();
            assert!(fault.message.contains(words), "{words}: {}", fault.message);
        }
    }

    #[test]
    fn the_boundary_comes_from_the_media_type() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("application/json; boundary=abc", None),
        ] {
            assert_eq!(boundary(content_type).as_deref(), expected, "{content_type}");
        }
    }
}
