//! Measures catalogs of 1,000 to 100,000 functions: indexing, replacing a document, and the slowest
//! percentile of both rankers over many queries.

use std::sync::LazyLock;

use divan::{Bencher, black_box};
use toolwright_search::{Document, Index, Options, Parameter};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Number of different words. Their frequencies follow Zipf's law.
const WORDS: u64 = 30_000;

/// Queries for each measurement.
const QUERIES: usize = 200;

/// An index for each of [`SIZES`].
static INDEXES: [LazyLock<Index>; 3] = [
    LazyLock::new(|| index(SIZES[0])),
    LazyLock::new(|| index(SIZES[1])),
    LazyLock::new(|| index(SIZES[2])),
];

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A rank whose probability is about proportional to its inverse.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn rank(&mut self) -> u64 {
        let uniform = (self.next() % (1 << 24)) as f64 / f64::from(1 << 24);
        (WORDS as f64).powf(uniform) as u64
    }

    fn english(&mut self, words: usize) -> String {
        const COMMON: [&str; 12] = [
            "get", "list", "find", "create", "update", "delete", "weather", "movie", "price",
            "user", "file", "report",
        ];
        let mut text = String::new();
        for _ in 0..words {
            let rank = self.rank();
            if let Some(word) = usize::try_from(rank).ok().and_then(|rank| COMMON.get(rank)) {
                text.push_str(word);
            } else {
                push_invented_word(rank, &mut text);
            }
            text.push(' ');
        }
        text
    }

    fn chinese(&mut self, characters: usize) -> String {
        let character =
            |rank: u64| char::from_u32(0x4e00 + u32::try_from(rank % 6000).unwrap_or(0));
        (0..characters).filter_map(|_| character(self.rank())).collect()
    }
}

/// Appends a word whose syllables are the digits of a number.
fn push_invented_word(number: u64, text: &mut String) {
    let mut rest = number * 7919 % (WORDS * 8);
    while rest > 0 {
        text.push(['b', 'd', 'f', 'k', 'l', 'm', 'n', 'r', 's', 't'][(rest % 10) as usize]);
        text.push(['a', 'e', 'i', 'o', 'u'][(rest / 10 % 5) as usize]);
        rest /= 50;
    }
}

fn document(number: usize, random: &mut Random) -> Document {
    let is_chinese = number.is_multiple_of(3);
    let mut text = |words: usize| {
        if is_chinese { random.chinese(2 * words) } else { random.english(words) }
    };
    let description = text(14);
    let parameters = (0..4).map(|_| Parameter { name: text(1), description: text(7) }).collect();
    Document {
        id: format!("prefab-{}/function_{number}", number / 10),
        name: random.english(3).trim().replace(' ', "_"),
        description,
        parameters,
        tags: vec![random.english(1)],
        author: "author".into(),
        prefab: format!("prefab-{}", number / 10),
    }
}

fn documents(size: usize) -> Vec<Document> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    (0..size).map(|number| document(number, &mut random)).collect()
}

fn index(size: usize) -> Index {
    let mut index = Index::new();
    for document in documents(size) {
        index.add(document);
    }
    index
}

fn shared_index(size: usize) -> &'static Index {
    let position = SIZES.iter().position(|other| *other == size).unwrap_or_default();
    &INDEXES[position]
}

fn queries(words: usize) -> Vec<String> {
    let mut random = Random(99);
    let query = |number: usize| {
        if number.is_multiple_of(3) { random.chinese(2 * words) } else { random.english(words) }
    };
    (0..QUERIES).map(query).collect()
}

#[divan::bench(args = SIZES, sample_count = 1, sample_size = 1)]
fn indexes(bencher: Bencher, size: usize) {
    bencher.with_inputs(|| documents(size)).bench_local_values(|documents| {
        let mut index = Index::new();
        for document in documents {
            index.add(document);
        }
        index
    });
}

#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn searches_three_words(bencher: Bencher, size: usize) {
    let index = shared_index(size);
    let queries = queries(3);
    let mut next = queries.iter().cycle();
    bencher.bench_local(|| {
        let query = next.next().map_or("", String::as_str);
        black_box(index.search(query, &Options::default()))
    });
}

#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn recommends_for_twenty_words(bencher: Bencher, size: usize) {
    let index = shared_index(size);
    let queries = queries(20);
    let mut next = queries.iter().cycle();
    bencher.bench_local(|| {
        let query = next.next().map_or("", String::as_str);
        black_box(index.recommend(query, &Options::default()))
    });
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn searches_a_misspelled_name(bencher: Bencher) {
    let index = shared_index(100_000);
    bencher.bench(|| index.search("wether_raport", &Options::default()));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn replaces_a_document(bencher: Bencher) {
    let mut index = index(10_000);
    let document = document(5, &mut Random(5));
    bencher.bench_local(|| index.add(document.clone()));
}
