//! Measures how long the growing view of a streamed argument takes, for arguments of several sizes:
//! ten times the text must take about ten times as long. A fragment has a few bytes, as in models'
//! streams.

use divan::{Bencher, black_box};
use toolwright_core::args::growing::Growing;
use toolwright_core::json::Json;
use toolwright_core::object;

fn main() {
    divan::main();
}

/// Size of a fragment in bytes.
const FRAGMENT: usize = 4;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn text(size: usize) -> String {
    let content = "let x = \"a\";\n".repeat(size / 16);
    Json::Object(object! {"path": "src/main.rs", "content": content, "mode": 420_usize}).compact()
}

#[divan::bench(args = SIZES)]
fn streamed(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(size);
    let fragments: Vec<&str> = text
        .as_bytes()
        .chunks(FRAGMENT)
        .filter_map(|bytes| std::str::from_utf8(bytes).ok())
        .collect();
    bencher.bench(|| {
        let mut growing = Growing::new();
        for fragment in &fragments {
            growing.push(black_box(fragment));
            black_box(growing.view());
        }
        growing.finish()
    });
}

#[divan::bench(args = SIZES)]
fn whole(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(size);
    bencher.bench(|| Json::parse(black_box(&text)));
}
