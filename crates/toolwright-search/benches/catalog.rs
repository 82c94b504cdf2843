//! Measures catalogs of 1,000 to 100,000 functions: indexing, memory, the snapshot, and the slowest
//! percentile of both rankers over many queries. Each size runs in a process of its own.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolwright_search::{Document, Index, Options, Parameter, Prefab, Ranker};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Functions of each prefab.
const FUNCTIONS: usize = 10;

/// Number of different words. Their frequencies follow Zipf's law.
const WORDS: u64 = 30_000;

/// Number of different Chinese characters. A Chinese word has two of them.
const CHARACTERS: u64 = 2_000;

/// Queries for each measurement.
const QUERIES: usize = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let size = std::env::args().find_map(|argument| argument.parse().ok());
    if let Some(size) = size {
        println!("{}", measure(size)?);
        return Ok(());
    }
    println!(
        "functions   index   memory  snapshot   write    read   search p50   p99   misspelled p99   \
         recommend p50   p99   prefabs p99   replace p99"
    );
    // Without `--bench`, as in a test run, the smallest catalog shows that all of it runs.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sizes = if is_measured { &SIZES[..] } else { &SIZES[..1] };
    for size in sizes {
        let status = Command::new(std::env::current_exe()?).arg(size.to_string()).status()?;
        if !status.success() {
            return Err(format!("the measurement of {size} functions failed").into());
        }
    }
    Ok(())
}

/// A line of the table.
fn measure(size: usize) -> Result<String, Box<dyn Error>> {
    let before = resident_memory()?;
    let mut indexing = Duration::ZERO;
    let mut index = Index::new();
    let mut generator = Generator::new();
    for number in 0..size {
        let document = generator.document(number);
        let start = Instant::now();
        index.add(document);
        indexing += start.elapsed();
    }
    let memory = resident_memory()?.saturating_sub(before);
    let start = Instant::now();
    let snapshot = index.to_snapshot();
    let writing = start.elapsed();
    let start = Instant::now();
    let read = Index::from_snapshot(&snapshot)?;
    let reading = start.elapsed();
    drop(read);

    let options = Options::default();
    let keywords = generator.queries(3);
    let search = percentiles(&keywords, |query| drop(index.search(query, &options)));
    let misspelled: Vec<String> = keywords.iter().map(|query| query.replace('a', "q")).collect();
    let misspelled = percentiles(&misspelled, |query| drop(index.search(query, &options)));
    let needs = generator.queries(20);
    let recommend = percentiles(&needs, |query| drop(index.recommend(query, &options)));
    let prefabs = percentiles(&needs, |query| {
        drop(index.rank_prefabs(Ranker::Recommend, query, &options, 3));
    });
    let documents: Vec<Document> = (0..QUERIES).map(|_| generator.document(0)).collect();
    let replace = percentiles(&documents, |document| index.add(document.clone()));
    Ok(format!(
        "{size:9} {:5.2} s {:5} MB {:6} MB {:5.2} s {:5.2} s {:9.2} ms {:5.2} ms {:11.2} ms {:12.2} ms \
         {:5.2} ms {:8.2} ms {:8.2} ms",
        indexing.as_secs_f32(),
        memory >> 20,
        snapshot.len() >> 20,
        writing.as_secs_f32(),
        reading.as_secs_f32(),
        search[0],
        search[1],
        misspelled[1],
        recommend[0],
        recommend[1],
        prefabs[1],
        replace[1],
    ))
}

/// Milliseconds that half and that 99 % of the runs need at most.
fn percentiles<Q>(queries: &[Q], mut run: impl FnMut(&Q)) -> [f32; 2] {
    let mut times: Vec<f32> = queries
        .iter()
        .map(|query| {
            let start = Instant::now();
            run(query);
            1_000.0 * start.elapsed().as_secs_f32()
        })
        .collect();
    times.sort_by(f32::total_cmp);
    [times[times.len() / 2], times[times.len() * 99 / 100]]
}

/// Bytes of memory that the process has. Only Linux tells.
fn resident_memory() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.map_or(Ok(0), str::parse::<usize>)? << 10)
}

/// A generator of documents and queries from pseudo-random numbers (xorshift).
struct Generator {
    state: u64,
    prefab: Arc<Prefab>,
}

impl Generator {
    fn new() -> Self {
        Generator { state: 0x2545_f491_4f6c_dd1d, prefab: Arc::default() }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
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

    fn chinese(&mut self, words: usize) -> String {
        let character = |number: u64| {
            char::from_u32(0x4e00 + u32::try_from(number % CHARACTERS).unwrap_or_default())
        };
        let word = |rank: u64| [character(rank * 7_919), character(rank * 104_729)];
        (0..words).flat_map(|_| word(self.rank())).flatten().collect()
    }

    /// A text in Chinese if the number is divisible by 3, in English otherwise.
    fn text(&mut self, number: usize, words: usize) -> String {
        if number.is_multiple_of(3) { self.chinese(words) } else { self.english(words) }
    }

    fn document(&mut self, number: usize) -> Document {
        if number.is_multiple_of(FUNCTIONS) {
            self.prefab = Arc::new(Prefab {
                id: format!("prefab-{}", number / FUNCTIONS),
                name: self.text(number, 3),
                description: self.text(number, 12),
                tags: vec![self.english(1)],
                author: "author".into(),
                revision: String::new(),
            });
        }
        let mut parameters = Vec::new();
        for _ in 0..4 {
            let (name, description) = (self.text(number, 1), self.text(number, 7));
            parameters.push(Parameter { name, description });
        }
        Document {
            id: format!("{}/function_{number}", self.prefab.id),
            name: self.english(3).trim().replace(' ', "_"),
            description: self.text(number, 14),
            parameters,
            prefab: self.prefab.clone(),
        }
    }

    fn queries(&mut self, words: usize) -> Vec<String> {
        (0..QUERIES).map(|number| self.text(number, words)).collect()
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
