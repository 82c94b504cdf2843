//! Validates a value and skips it, in one loop over its tokens. With a recursive descent, parsing a request of a coding
//! agent takes 7 % longer, because its schemas and arguments are validated and kept as text.

use super::{ITEM_END, MAX_DEPTH, MEMBER_END, Reader, Result, VALUE};

/// The open arrays and objects are bits of one integer.
const _: () = assert!(MAX_DEPTH <= u128::BITS as usize);

impl Reader<'_> {
    /// Skips a value, by the rules of [`Reader::value`].
    pub(crate) fn skip(&mut self, depth: usize) -> Result<()> {
        // Which of the open arrays and objects are objects; the innermost is the lowest bit.
        let mut objects = 0u128;
        let mut level = depth;
        loop {
            match self.peek() {
                Some(b'"') => self.string::<()>()?,
                Some(b'{') => {
                    level = self.deeper(level)?;
                    objects = objects << 1 | 1;
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b'}') {
                        self.key::<()>()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    level = self.deeper(level)?;
                    objects <<= 1;
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                _ => return Err(self.error(VALUE)),
            }
            loop {
                if level == depth {
                    return Ok(());
                }
                self.space();
                match (self.peek(), objects & 1 == 1) {
                    (Some(b','), is_object) => {
                        self.at += 1;
                        self.space();
                        if is_object {
                            self.key::<()>()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        objects >>= 1;
                        level -= 1;
                    }
                    (_, true) => return Err(self.error(MEMBER_END)),
                    (_, false) => return Err(self.error(ITEM_END)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Json;

    /// The end or the error of a value, skipped and parsed.
    fn both(text: &str, depth: usize) -> [Result<usize>; 2] {
        let (mut skipped, mut parsed) = (Reader::new(text), Reader::new(text));
        let (skip, parse) = (skipped.skip(depth), parsed.value::<Json>(depth));
        assert_eq!(skipped.compact, parsed.compact, "{text}");
        [skip.map(|()| skipped.at), parse.map(|_| parsed.at)]
    }

    #[test]
    fn a_value_is_skipped_where_the_parser_ends_and_refused_where_it_fails() {
        let document =
            r#"{"a": [1, -2.5e3, {}, [], {"\u00e9\n": null}], "b":{"c":[true,false]} ,"":"\/"} 7"#;
        for end in 0..=document.len() {
            let text = &document[..end];
            let [skipped, parsed] = both(text, 0);
            assert_eq!(skipped, parsed, "{text}");
            for other in ["", ",", ":", "]", "}", "[", "{", "\"", "0", " ", "x"] {
                let changed =
                    format!("{text}{other}{}", document.get(end + 1..).unwrap_or_default());
                let [skipped, parsed] = both(&changed, 0);
                assert_eq!(skipped, parsed, "{changed}");
            }
        }
    }

    #[test]
    fn the_depth_is_bounded_like_that_of_the_parser() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for depth in [0, 1, MAX_DEPTH - 1] {
                for levels in [1, MAX_DEPTH - depth, MAX_DEPTH - depth + 1] {
                    let text = format!("{}0{}", open.repeat(levels), close.repeat(levels));
                    let [skipped, parsed] = both(&text, depth);
                    assert_eq!(skipped, parsed, "{levels} levels at {depth}");
                    assert_eq!(skipped.is_ok(), levels <= MAX_DEPTH - depth);
                }
            }
        }
    }
}
