//! Measures how fast `peek` scans a body that is passed through, compared with `serde_json`
//! skipping the same bytes. `peek` also validates the UTF-8 of the body, which `IgnoredAny` does
//! not.

#![allow(clippy::unwrap_used)]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde::de::IgnoredAny;
use toolwright_json::object;
use toolwright_json::{Json, Object, peek};

fn main() {
    divan::main();
}

const SIZES: [usize; 2] = [100_000, 1_000_000];

/// The kinds of messages in a body.
const KINDS: [&str; 4] = ["prose", "code", "chinese", "tools"];

const CASES: [(&str, usize); 8] = {
    let mut cases = [("", 0); 8];
    let mut at = 0;
    while at < cases.len() {
        cases[at] = (KINDS[at / 2], SIZES[at % 2]);
        at += 1;
    }
    cases
};

fn request((kind, size): (&str, usize)) -> Vec<u8> {
    let message = |text: String| object! {"role": "user", "content": text};
    let mut body = object! {"model": "gpt-4o", "stream": true};
    let messages: Vec<Object> = match kind {
        "prose" => vec![message("It was a dark and stormy night. ".repeat(size / 32))],
        "code" => vec![message("    let x = \"a\";\n\n".repeat(size / 22))],
        "chinese" => vec![message("北京今天的天气怎么样？".repeat(size / 33))],
        _ => vec![message("hi".into())],
    };
    if kind == "tools" {
        let parameter = object! {"type": "string", "description": "The city", "maxLength": 40};
        let schema = object! {"type": "object", "properties": object! {"city": parameter}};
        let tool = object! {"name": "get_weather", "strict": false, "parameters": schema};
        let tool = object! {"type": "function", "function": tool};
        let length = tool.compact().len() + 1;
        body.insert("tools", vec![tool; size / length]);
    }
    body.insert("messages", messages);
    Json::Object(body).compact().into_bytes()
}

#[divan::bench(args = CASES)]
fn looked_at(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let body = request(case);
    let bencher = bencher.counter(BytesCount::new(body.len()));
    bencher.bench(|| peek(black_box(&body), &["model", "stream"]).unwrap()[0].is_some());
}

#[divan::bench(args = CASES)]
fn ignored_by_serde_json(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let body = request(case);
    let bencher = bencher.counter(BytesCount::new(body.len()));
    bencher.bench(|| serde_json::from_slice::<IgnoredAny>(black_box(&body)).unwrap());
}
