//! Measures how long a translation takes, compared with plain `serde_json` on the same bytes.
//!
//! Ours runs all steps from bytes to bytes: parse, decode, fit, encode, write. The baseline parses
//! the source's JSON to a `serde_json::Value` and writes it again, for a stream frame by frame.
//! Both are measured alternately, so that noise affects both. Divan shows the times of a few pairs;
//! after it, three tables show every pair as a ratio. JSON is compact; a stream arrives one frame
//! at a time.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../../bench/src/question/agent.rs"]
mod agent;

use std::path::Path;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use toolwright_core::Json;
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::{FrameReader, FrameWriter};
use toolwright_dialects::translate::{Options, Translator};

fn main() {
    divan::main();
    for kind in Kind::ALL {
        table(kind, &Effort::asked());
    }
}

/// The kind of document to translate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Response,
    Stream,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Request, Kind::Response, Kind::Stream];

    /// Maximum ratio to the baseline. A response has no goal of its own.
    fn goal(self) -> f64 {
        if self == Kind::Stream { 2.0 } else { 3.0 }
    }
}

/// The bytes of one kind of document in one dialect.
struct Source {
    codec: &'static dyn ChatCodec,
    kind: Kind,
    path: String,
    /// The input: one body, or the frames in order
    pieces: Vec<Vec<u8>>,
    /// The JSON documents in the input
    documents: Vec<Vec<u8>>,
}

impl Source {
    fn read(codec: &'static dyn ChatCodec, kind: Kind) -> Source {
        let mut source =
            Source { codec, kind, path: String::new(), pieces: vec![], documents: vec![] };
        match kind {
            Kind::Request => {
                let record = document(codec.dialect(), "matrix_request.json");
                let path = record.get("path").and_then(Json::as_str).unwrap();
                path.clone_into(&mut source.path);
                source.pieces.push(record.get("body").unwrap().compact().into_bytes());
                source.documents.clone_from(&source.pieces);
            }
            Kind::Response => {
                let body = document(codec.dialect(), "matrix_response.json");
                source.pieces.push(body.compact().into_bytes());
                source.documents.clone_from(&source.pieces);
            }
            Kind::Stream => source.cut(),
        }
        source
    }

    fn cut(&mut self) {
        let dialect = self.codec.dialect();
        let names = ["matrix_stream.txt", "matrix_stream.ndjson.txt", "matrix_stream.bin"];
        let bytes = names.iter().find_map(|name| fixture(dialect, name)).unwrap();
        let mut reader = FrameReader::new(self.codec.framing());
        let mut frames = Vec::new();
        reader.push(&bytes, &mut frames).unwrap();
        reader.finish(&mut frames).unwrap();
        for frame in &frames {
            let mut piece = Vec::new();
            FrameWriter::new(self.codec.framing()).write(frame, &mut piece);
            self.pieces.push(piece);
        }
        let payloads = frames.into_iter().map(|frame| frame.data.into_bytes());
        let is_json = |payload: &Vec<u8>| Json::parse_bytes(payload).is_ok();
        self.documents.extend(payloads.filter(is_json));
    }

    /// The baseline: parses the JSON and writes it.
    fn floor(&self) {
        for document in &self.documents {
            let value: serde_json::Value = serde_json::from_slice(black_box(document)).unwrap();
            black_box(serde_json::to_vec(&value).unwrap());
        }
    }

    /// Translates to another dialect, from bytes to bytes.
    fn translate(&self, to: &dyn ChatCodec, context: &ReplyContext) {
        let options = Options::default();
        let translator = Translator::new(self.codec, to, &options).with_reply_context(context);
        match self.kind {
            Kind::Request => {
                let body = Json::parse_bytes(black_box(&self.pieces[0])).unwrap();
                let wire = WireRequest { path: self.path.clone(), headers: vec![], body };
                let translated = translator.request(wire).unwrap();
                black_box(translated.value.body.compact().into_bytes());
            }
            Kind::Response => {
                let body = Json::parse_bytes(black_box(&self.pieces[0])).unwrap();
                let translated = translator.response(WireReply::ok(body)).unwrap();
                black_box(translated.value.body.compact().into_bytes());
            }
            Kind::Stream => {
                let mut stream = translator.stream();
                for piece in &self.pieces {
                    let mut out = Vec::new();
                    stream.push(black_box(piece), &mut out).unwrap();
                    black_box(out);
                }
                let mut out = Vec::new();
                stream.finish(&mut out).unwrap();
                black_box(out);
            }
        }
    }
}

fn codecs() -> Vec<&'static dyn ChatCodec> {
    Dialect::ALL.into_iter().filter_map(dialect::codec).collect()
}

fn fixture(dialect: Dialect, name: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    std::fs::read(root.join(dialect.id()).join("synthetic").join(name)).ok()
}

fn document(dialect: Dialect, name: &str) -> Json {
    Json::parse_bytes(&fixture(dialect, name).unwrap()).unwrap()
}

fn context() -> ReplyContext {
    ReplyContext { created: 1_794_700_000, stream_usage: true, ..ReplyContext::default() }
}

/// Representative pairs: the most common one, both binary framings, and the reverse direction to
/// the dialect with the most frames.
const SHOWN: [(Dialect, Dialect); 4] = [
    (Dialect::OpenaiChat, Dialect::Anthropic),
    (Dialect::Anthropic, Dialect::Bedrock),
    (Dialect::Bedrock, Dialect::Gemini),
    (Dialect::Gemini, Dialect::OpenaiResponses),
];

fn shown(bencher: Bencher<'_, '_>, (from, to): (Dialect, Dialect), kind: Kind) {
    let source = Source::read(dialect::codec(from).unwrap(), kind);
    let context = context();
    bencher.bench_local(|| source.translate(dialect::codec(to).unwrap(), &context));
}

#[divan::bench(args = SHOWN)]
fn request(bencher: Bencher<'_, '_>, pair: (Dialect, Dialect)) {
    shown(bencher, pair, Kind::Request);
}

#[divan::bench(args = SHOWN)]
fn response(bencher: Bencher<'_, '_>, pair: (Dialect, Dialect)) {
    shown(bencher, pair, Kind::Response);
}

#[divan::bench(args = SHOWN)]
fn stream(bencher: Bencher<'_, '_>, pair: (Dialect, Dialect)) {
    shown(bencher, pair, Kind::Stream);
}

/// A request of the size that coding agents send, in both directions of a pair.
#[divan::bench(args = [
    (Dialect::OpenaiChat, Dialect::Anthropic),
    (Dialect::Anthropic, Dialect::OpenaiChat),
])]
fn agent_request(bencher: Bencher<'_, '_>, (from, to): (Dialect, Dialect)) {
    let (from, to) = (dialect::codec(from).unwrap(), dialect::codec(to).unwrap());
    let body = serde_json::json!({"model": "m", "messages": agent::conversation(),
        "tools": agent::tools(), "max_tokens": 4096});
    let openai = dialect::codec(Dialect::OpenaiChat).unwrap();
    let wire =
        WireRequest { body: Json::parse(&body.to_string()).unwrap(), ..WireRequest::default() };
    let options = Options::default();
    let wire = Translator::new(openai, from, &options).request(wire).unwrap().value;
    let source = Source {
        codec: from,
        kind: Kind::Request,
        path: wire.path,
        pieces: vec![wire.body.compact().into_bytes()],
        documents: vec![],
    };
    let context = ReplyContext::default();
    bencher.bench(|| source.translate(to, &context));
}

/// How long each pair is measured.
struct Effort {
    rounds: usize,
    turn: Duration,
}

impl Effort {
    /// Without `--bench`, as in a test run, each pair runs once. A turn is far shorter than a scheduler time slice, so
    /// that few are interrupted.
    fn asked() -> Effort {
        if std::env::args().any(|argument| argument == "--bench") {
            Effort { rounds: 125, turn: Duration::from_micros(150) }
        } else {
            Effort { rounds: 1, turn: Duration::ZERO }
        }
    }

    /// Returns the median ratio of the rounds.
    fn ratio(&self, ours: impl Fn(), floor: impl Fn()) -> f64 {
        let round = |_| self.time(&ours) / self.time(&floor);
        median(&mut (0..self.rounds).map(round).collect::<Vec<f64>>())
    }

    /// Returns the seconds for one run of a function.
    fn time(&self, function: impl Fn()) -> f64 {
        let start = Instant::now();
        let mut runs = 0.0;
        loop {
            function();
            runs += 1.0;
            let spent = start.elapsed();
            if spent >= self.turn {
                return spent.as_secs_f64() / runs;
            }
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints the ratios of one kind: rows are sources, columns are targets.
fn table(kind: Kind, effort: &Effort) {
    let (codecs, context) = (codecs(), context());
    print!("\n{:18}", format!("{kind:?} / floor"));
    for to in &codecs {
        print!("{:>17}", to.dialect().id());
    }
    println!();
    let mut all = Vec::new();
    for from in &codecs {
        print!("{:18}", from.dialect().id());
        let source = Source::read(*from, kind);
        for to in &codecs {
            let ratio = effort.ratio(|| source.translate(*to, &context), || source.floor());
            print!("{ratio:17.2}");
            all.push(ratio);
        }
        println!();
    }
    let (middle, goal) = (median(&mut all), kind.goal());
    let (worst, within) = (all.last().unwrap(), all.iter().filter(|ratio| **ratio <= goal).count());
    println!("worst {worst:.2}, median {middle:.2}; {within} of {} at most {goal:.0}", all.len());
}
