//! Arguments as they arrive: a view that grows with each fragment of a stream.
//!
//! Every byte is examined once and the tree is never copied, so the total time is linear. Only
//! certain content is shown: a string may still grow, but the view never contains a partial number,
//! literal, escape or key. Parsing is strict; at invalid JSON the view stops, and the complete text
//! is left to [`parse`](super::parse()).

use toolwright_json::pointer::escape;
use toolwright_json::{Json, MAX_DEPTH, Number, Object};

use crate::wire_json::key;

/// The state of a growing document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More input is expected
    Growing,
    /// The document is complete; a top-level number never is, because more digits may follow
    Complete,
    /// The input is not JSON; the view shows what came before
    Broken,
}

/// A document that is parsed while it arrives.
#[derive(Debug, Clone, Default)]
pub struct Growing {
    root: Option<Json>,
    /// Number of open arrays and objects
    open: usize,
    expect: Expect,
    /// An incomplete key or number
    token: String,
    key: Option<String>,
    /// The first half of a surrogate pair
    half: Option<u32>,
    work: usize,
}

/// The next expected token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Expect {
    #[default]
    Value,
    /// A value, or the end of the array
    Item,
    Key,
    /// A key, or the end of the object
    Member,
    Colon,
    /// A comma or an end
    After,
    /// The remainder of a key or a string
    Text(Text),
    Escape(Text),
    /// The digits of an escape: their number, and their value
    Hex(Text, u8, u32),
    /// A literal, and the length that has arrived
    Word(&'static str, usize),
    Number,
    Nothing,
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Key,
    Value,
}

impl Growing {
    /// Creates an empty document.
    pub fn new() -> Growing {
        Growing::default()
    }

    /// Parses the next fragment.
    pub fn push(&mut self, fragment: &str) {
        let mut rest = fragment;
        while let Some(first) = rest.chars().next() {
            self.work += 1;
            if let Expect::Text(text) = self.expect {
                let special = |letter: char| matches!(letter, '"' | '\\') || letter < ' ';
                let length = rest.find(special).unwrap_or(rest.len());
                if length > 0 {
                    self.append(text, &rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
            }
            if self.step(first) {
                rest = &rest[first.len_utf8()..];
            }
            if self.expect == Expect::Broken {
                return;
            }
        }
    }

    /// Returns the certain part of the document.
    pub fn view(&self) -> Option<&Json> {
        self.root.as_ref()
    }

    /// Returns the state.
    pub fn progress(&self) -> Progress {
        match self.expect {
            Expect::Broken => Progress::Broken,
            Expect::Nothing => Progress::Complete,
            _ => Progress::Growing,
        }
    }

    /// Returns the JSON Pointer to the innermost open string, array or object in the view.
    pub fn path(&self) -> String {
        let mut pointer = String::new();
        let mut here = self.root.as_ref();
        for _ in 0..self.levels() {
            let (step, next) = match here {
                Some(Json::Array(items)) => {
                    (items.len().saturating_sub(1).to_string(), items.last())
                }
                Some(Json::Object(object)) => match object.iter().next_back() {
                    Some((key, value)) => (escape(key).into_owned(), Some(value)),
                    None => break,
                },
                _ => break,
            };
            pointer.push('/');
            pointer.push_str(&step);
            here = next;
        }
        pointer
    }

    /// Ends the input and returns the document, if it is complete.
    pub fn finish(mut self) -> Option<Json> {
        if self.expect == Expect::Number && self.open == 0 {
            self.number();
        }
        self.root.filter(|_| self.expect == Expect::Nothing)
    }

    /// Returns the number of examined bytes and visited levels, to verify linear time.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Returns the depth of the open value.
    fn levels(&self) -> usize {
        let in_text = matches!(
            self.expect,
            Expect::Text(Text::Value) | Expect::Escape(Text::Value) | Expect::Hex(Text::Value, ..)
        );
        if in_text { self.open } else { self.open.saturating_sub(1) }
    }

    /// Returns the open value.
    fn place(&mut self, levels: usize) -> Option<&mut Json> {
        self.work += levels;
        let mut here = self.root.as_mut()?;
        for _ in 0..levels {
            here = match here {
                Json::Array(items) => items.last_mut()?,
                Json::Object(object) => object.iter_mut().next_back()?.1,
                _ => return None,
            };
        }
        Some(here)
    }

    /// Processes one character; returns false if it must be processed again.
    fn step(&mut self, letter: char) -> bool {
        let is_space = matches!(letter, ' ' | '\t' | '\n' | '\r');
        match self.expect {
            Expect::Text(text) => self.end_or_escape(text, letter),
            Expect::Escape(text) => self.escape(text, letter),
            Expect::Hex(text, count, code) => self.hex(text, count, code, letter),
            Expect::Word(word, length) => self.word(word, length, letter),
            Expect::Number if matches!(letter, '0'..='9' | '+' | '-' | '.' | 'e' | 'E') => {
                self.token.push(letter);
            }
            Expect::Number => {
                self.number();
                return false;
            }
            Expect::Broken => {}
            _ if is_space => {}
            Expect::Item if letter == ']' => self.close(),
            Expect::Value | Expect::Item => self.value(letter),
            Expect::Member if letter == '}' => self.close(),
            Expect::Key | Expect::Member if letter == '"' => {
                self.expect = Expect::Text(Text::Key);
            }
            Expect::Colon if letter == ':' => self.expect = Expect::Value,
            Expect::After => self.after(letter),
            _ => self.expect = Expect::Broken,
        }
        true
    }

    fn value(&mut self, letter: char) {
        match letter {
            '{' | '[' if self.open == MAX_DEPTH => self.expect = Expect::Broken,
            '{' => self.begin(Json::Object(Object::new()), Expect::Member),
            '[' => self.begin(Json::Array(Vec::new()), Expect::Item),
            '"' => {
                self.add(Json::from(String::new()));
                self.expect = Expect::Text(Text::Value);
            }
            't' => self.expect = Expect::Word("true", 1),
            'f' => self.expect = Expect::Word("false", 1),
            'n' => self.expect = Expect::Word("null", 1),
            '-' | '0'..='9' => {
                self.token.push(letter);
                self.expect = Expect::Number;
            }
            _ => self.expect = Expect::Broken,
        }
    }

    fn begin(&mut self, value: Json, expect: Expect) {
        self.add(value);
        self.open += 1;
        self.expect = expect;
    }

    /// Adds a value to the open container.
    fn add(&mut self, value: Json) {
        self.expect = Expect::After;
        if self.open == 0 {
            self.root = Some(value);
            self.expect = Expect::Nothing;
            return;
        }
        let name = self.key.take();
        match (self.place(self.open - 1), name) {
            (Some(Json::Array(items)), _) => items.push(value),
            (Some(Json::Object(object)), Some(name)) => object.push(key(&name), value),
            _ => self.expect = Expect::Broken,
        }
    }

    fn close(&mut self) {
        self.open -= 1;
        self.expect = if self.open == 0 { Expect::Nothing } else { Expect::After };
    }

    fn after(&mut self, letter: char) {
        let is_object = matches!(self.place(self.open.saturating_sub(1)), Some(Json::Object(_)));
        match (letter, is_object) {
            (',', true) => self.expect = Expect::Key,
            (',', false) => self.expect = Expect::Value,
            ('}', true) | (']', false) => self.close(),
            _ => self.expect = Expect::Broken,
        }
    }

    fn word(&mut self, word: &'static str, length: usize, letter: char) {
        if word[length..].strip_prefix(letter).is_none() {
            self.expect = Expect::Broken;
        } else if length + 1 < word.len() {
            self.expect = Expect::Word(word, length + 1);
        } else {
            self.add(match word {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                _ => Json::Null,
            });
        }
    }

    fn number(&mut self) {
        let digits = std::mem::take(&mut self.token);
        match Number::parse(&digits) {
            Some(number) => self.add(Json::Number(number)),
            None => self.expect = Expect::Broken,
        }
    }

    /// Appends to a key or a string.
    fn append(&mut self, text: Text, words: &str) {
        let lone = self.half.take().map(|_| char::REPLACEMENT_CHARACTER);
        let append = |target: &mut String| {
            target.extend(lone);
            target.push_str(words);
        };
        match text {
            Text::Key => append(&mut self.token),
            Text::Value => {
                if let Some(Json::String(text)) = self.place(self.open) {
                    text.edit(append);
                }
            }
        }
    }

    fn end_or_escape(&mut self, text: Text, letter: char) {
        match letter {
            '\\' => self.expect = Expect::Escape(text),
            '"' => {
                self.append(text, "");
                self.expect = match text {
                    Text::Key => Expect::Colon,
                    Text::Value if self.open == 0 => Expect::Nothing,
                    Text::Value => Expect::After,
                };
                if text == Text::Key {
                    self.key = Some(std::mem::take(&mut self.token));
                }
            }
            _ => self.expect = Expect::Broken,
        }
    }

    fn escape(&mut self, text: Text, letter: char) {
        let said = match letter {
            '"' => "\"",
            '\\' => "\\",
            '/' => "/",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'n' => "\n",
            'r' => "\r",
            't' => "\t",
            'u' => {
                self.expect = Expect::Hex(text, 0, 0);
                return;
            }
            _ => {
                self.expect = Expect::Broken;
                return;
            }
        };
        self.append(text, said);
        self.expect = Expect::Text(text);
    }

    fn hex(&mut self, text: Text, count: u8, code: u32, letter: char) {
        let Some(digit) = letter.to_digit(16) else {
            self.expect = Expect::Broken;
            return;
        };
        let code = code * 16 + digit;
        if count < 3 {
            self.expect = Expect::Hex(text, count + 1, code);
            return;
        }
        self.expect = Expect::Text(text);
        let is_second = (0xdc00..0xe000).contains(&code);
        let whole = match self.half {
            Some(half) if is_second => {
                self.half = None;
                char::from_u32(0x10000 + ((half - 0xd800) << 10) + (code - 0xdc00))
            }
            _ => char::from_u32(code),
        };
        let mut buffer = [0; 4];
        match whole {
            Some(whole) => self.append(text, whole.encode_utf8(&mut buffer)),
            None if is_second => self.append(text, "\u{fffd}"),
            None => {
                // A first half; a previous one without a second half stays alone.
                if self.half.is_some() {
                    self.append(text, "");
                }
                self.half = Some(code);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Growing, Progress};
    use toolwright_json::Json;

    fn bytewise(text: &str) -> Growing {
        let mut growing = Growing::new();
        let mut buffer = [0; 4];
        for letter in text.chars() {
            growing.push(letter.encode_utf8(&mut buffer));
        }
        growing
    }

    fn shown(text: &str) -> Option<String> {
        bytewise(text).view().map(Json::compact)
    }

    #[test]
    fn only_what_is_sure_is_shown() {
        for (text, view) in [
            ("", None),
            ("{", Some("{}")),
            (r#"{"ci"#, Some("{}")),
            (r#"{"city""#, Some("{}")),
            (r#"{"city":"#, Some("{}")),
            (r#"{"city":""#, Some(r#"{"city":""}"#)),
            (r#"{"city":"Par"#, Some(r#"{"city":"Par"}"#)),
            (r#"{"city":"Par\"#, Some(r#"{"city":"Par"}"#)),
            (r#"{"city":"Par\u00"#, Some(r#"{"city":"Par"}"#)),
            (r#"{"city":"\ud83d"#, Some(r#"{"city":""}"#)),
            (r#"{"city":"\ud83d\ude0"#, Some(r#"{"city":""}"#)),
            (r#"{"city":"\ud83d\ude00"#, Some(r#"{"city":"😀"}"#)),
            (r#"{"n":12"#, Some("{}")),
            (r#"{"n":12,"#, Some(r#"{"n":12}"#)),
            (r#"{"n":[1,2"#, Some(r#"{"n":[1]}"#)),
            (r#"{"b":tru"#, Some("{}")),
            (r#"{"b":true"#, Some(r#"{"b":true}"#)),
            ("12", None),
        ] {
            assert_eq!(shown(text).as_deref(), view, "{text}");
        }
    }

    #[test]
    fn the_place_that_grows_is_known() {
        for (text, path) in [
            ("", ""),
            (r#"{"a"#, ""),
            (r#"{"a/b":{"#, "/a~1b"),
            (r#"{"a":[1,{"b":"x"#, "/a/1/b"),
            (r#"{"a":[1,{"b":"x""#, "/a/1"),
            (r#"{"a":[1,{"b":"x"}"#, "/a"),
            (r#"{"a":[1,{"b":"x"}]}"#, ""),
        ] {
            assert_eq!(bytewise(text).path(), path, "{text}");
        }
    }

    #[test]
    fn what_is_not_json_stops_it() {
        let mut growing = Growing::new();
        growing.push(r#"{"a": 1, "b": nul"#);
        assert_eq!(growing.progress(), Progress::Growing);
        growing.push("1");
        assert_eq!(growing.progress(), Progress::Broken);
        growing.push(r#""c": 2}"#);
        assert_eq!(growing.view().map(Json::compact).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(growing.finish(), None);
        for text in ["{} x", "[1,]", "01 ", "{\"a\" 1}", "\"\n\"", "]", "{]", "[}"] {
            assert_eq!(bytewise(text).progress(), Progress::Broken, "{text}");
        }
    }

    #[test]
    fn work_is_linear_in_the_text() {
        let work = |length: usize| {
            let text = format!(r#"{{"a":{{"b":[1,"{}"]}}}}"#, "x".repeat(length));
            let growing = bytewise(&text);
            assert_eq!(growing.progress(), Progress::Complete);
            growing.work()
        };
        let (small, large) = (work(10_000), work(100_000));
        assert!(large < small * 11, "{small} {large}");
        assert!(large < 100_100 * 5, "{large}");
    }

    #[test]
    fn a_number_alone_ends_with_the_text() {
        let growing = bytewise(" 12.5");
        assert_eq!(growing.view(), None);
        assert_eq!(growing.finish().map(|value| value.compact()).as_deref(), Some("12.5"));
        assert_eq!(bytewise("-").finish(), None);
    }
}
