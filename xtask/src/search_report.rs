//! Reports how well the rankers of `toolwright-search` find the functions of a directory of sets.
//!
//! A set is a folder with three files of JSON lines:
//!
//! - `tools.jsonl`: `{"id", "name", "description", "params": ["name: description"]}`
//! - `queries.jsonl`: `{"id", "text"}`
//! - `qrels.jsonl`: `{"query_id", "tool_id"}`, a relevant tool of a query
//!
//! The directory is such a folder, or has such folders. Queries with even and with odd positions are
//! also reported apart (nDCG of `recommend`), so that a parameter can be chosen on one half and checked on
//! the other. "Unfiltered" is nDCG with weak hits if there are no others, "R@10 weak" the recall of hits that are
//! marked as weak, and "off-topic empty" the share of [`OFF_TOPIC`] queries without hits. The milliseconds are those of
//! `recommend`; `cargo run --release -p xtask` measures them in an optimized build. `--github` adds the sets of
//! [`github`].

mod bilingual;
mod github;
mod measure;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolwright_search::{Document, Hit, Index, Options, Parameter, Ranker};

use self::measure::Mean;
use crate::run::{Failure, Outcome};

/// Queries that no tool answers: small talk, quotations and invented words.
const OFF_TOPIC: &str = include_str!("search_report/off_topic.txt");

/// Column names: the rankers, then their measures.
const HEADER: [&str; 2] = [
    "                                    search               recommend",
    "set            tools  queries  nDCG@10   R@5  R@10   nDCG@10   R@5  R@10   even   odd   unfiltered   R@10 weak   off-topic empty   ms p50    p99",
];

/// What to evaluate.
#[derive(Default)]
pub(crate) struct Plan {
    directory: Option<String>,
    has_github: bool,
    dictionary: Option<String>,
}

impl Plan {
    /// Parses the arguments.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Plan, Failure> {
        let mut plan = Plan::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut file = || match words.next() {
                Some(file) => Ok(Some((*file).to_owned())),
                None => Err(Failure(format!("{word} needs a file"))),
            };
            match *word {
                "--dictionary" => plan.dictionary = file()?,
                "--github" => plan.has_github = true,
                directory => plan.directory = Some(directory.to_owned()),
            }
        }
        if plan.directory.is_none() && !plan.has_github {
            return Err(Failure("search-report needs a directory of sets, or --github".to_owned()));
        }
        Ok(plan)
    }
}

/// Evaluates a directory.
pub(crate) fn run(plan: &Plan) -> Outcome {
    let mut folders = match &plan.directory {
        Some(directory) => folders(&std::env::current_dir()?.join(directory))?,
        None => Vec::new(),
    };
    if plan.has_github {
        folders.extend(github::write_sets()?);
    }
    let sets: Vec<Set> =
        folders.iter().map(|folder| Set::read(folder)).collect::<Result<_, _>>()?;
    println!("{}", HEADER.join("\n"));
    for set in &sets {
        println!("{}", report(set));
    }
    bilingual::run(&sets, plan.dictionary.as_deref())
}

/// The folders of sets, sorted.
fn folders(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_set = |folder: &Path| folder.join("queries.jsonl").exists();
    if is_set(directory) {
        return Ok(vec![directory.to_owned()]);
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(directory)? {
        folders.push(entry?.path());
    }
    folders.retain(|folder| is_set(folder));
    folders.sort();
    if folders.is_empty() {
        let message = format!("{}: no folder has a queries.jsonl", directory.display());
        return Err(Failure(message));
    }
    Ok(folders)
}

/// Tools and queries with the tools that answer them.
struct Set {
    name: String,
    documents: Vec<Document>,
    queries: Vec<Query>,
}

#[derive(Clone)]
struct Query {
    id: String,
    text: String,
    relevant: BTreeSet<String>,
}

impl Set {
    fn read(folder: &Path) -> Result<Set, Failure> {
        let documents: Vec<Document> =
            lines(&folder.join("tools.jsonl"))?.iter().map(document).collect();
        let ids: BTreeSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
        let mut relevant: HashMap<String, BTreeSet<String>> = HashMap::new();
        for line in lines(&folder.join("qrels.jsonl"))? {
            let tool = text(&line, "tool_id");
            if ids.contains(tool.as_str()) {
                relevant.entry(text(&line, "query_id")).or_default().insert(tool);
            }
        }
        let mut queries = Vec::new();
        for line in lines(&folder.join("queries.jsonl"))? {
            let relevant = relevant.remove(&text(&line, "id")).unwrap_or_default();
            queries.push(Query { id: text(&line, "id"), text: text(&line, "text"), relevant });
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Set { name, documents, queries })
    }

    fn index(&self) -> Index {
        let mut index = Index::new();
        self.documents.iter().for_each(|document| index.add(document.clone()));
        index
    }
}

fn lines(path: &Path) -> Result<Vec<Value>, Failure> {
    let text = fs::read_to_string(path).map_err(unreadable(path))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(unreadable(path))).collect()
}

/// Names the file in an error.
fn unreadable<E: Display>(path: &Path) -> impl Fn(E) -> Failure {
    move |error| Failure(format!("{}: {error}", path.display()))
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn document(line: &Value) -> Document {
    let parameters = line["params"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let parameter = |text: &str| {
        let (name, description) = text.split_once(':').unwrap_or((text, ""));
        Parameter { name: name.to_owned(), description: description.to_owned() }
    };
    Document {
        id: text(line, "id"),
        name: text(line, "name"),
        description: text(line, "description"),
        parameters: parameters.map(parameter).collect(),
        ..Document::default()
    }
}

/// A line of the table.
fn report(set: &Set) -> String {
    let index = set.index();
    let measure = |ranker, options: &Options<'_>| {
        Figures::measure(&set.queries, |text| index.rank(ranker, text, options))
    };
    let search = measure(Ranker::Search, &Options::default());
    let recommend = measure(Ranker::Recommend, &Options::default());
    let keep_weak = Options::default().with_weak_hits(true);
    let unfiltered = measure(Ranker::Recommend, &keep_weak);
    let weak = Figures::measure(&set.queries, |text| {
        index.recommend(text, &keep_weak).into_iter().filter(|hit| hit.is_weak).collect()
    });
    let empty = share_of_empty(|text| index.recommend(text, &Options::default()));
    format!(
        "{:13}{:7}{:9}{:9}{:6}{:6}{:10}{:6}{:6}{:7}{:6}{:13}{:12}{:18}{:9.2}{:7.2}",
        set.name,
        set.documents.len(),
        set.queries.len(),
        search.ndcg,
        search.recall_at_5,
        search.recall_at_10,
        recommend.ndcg,
        recommend.recall_at_5,
        recommend.recall_at_10,
        recommend.halves[0],
        recommend.halves[1],
        unfiltered.ndcg,
        weak.recall_at_10,
        empty,
        recommend.milliseconds(50),
        recommend.milliseconds(99),
    )
}

/// Share of the off-topic queries without hits.
fn share_of_empty(recommend: impl Fn(&str) -> Vec<Hit>) -> Mean {
    let mut empty = Mean::default();
    for query in OFF_TOPIC.lines() {
        empty.add(f64::from(u8::from(recommend(query).is_empty())));
    }
    empty
}

/// Means over queries.
#[derive(Default)]
struct Figures {
    ndcg: Mean,
    recall_at_5: Mean,
    recall_at_10: Mean,
    /// nDCG of the queries with even and with odd positions
    halves: [Mean; 2],
    /// How long the queries took, sorted
    times: Vec<Duration>,
}

impl Figures {
    fn measure(queries: &[Query], rank: impl Fn(&str) -> Vec<Hit>) -> Figures {
        let mut figures = Figures::default();
        for (position, query) in queries.iter().enumerate() {
            if query.relevant.is_empty() {
                continue;
            }
            let start = Instant::now();
            let hits = rank(&query.text);
            figures.times.push(start.elapsed());
            let is_relevant: Vec<bool> =
                hits.iter().map(|hit| query.relevant.contains(&hit.id)).collect();
            let ndcg = measure::ndcg(&is_relevant, query.relevant.len());
            figures.ndcg.add(ndcg);
            figures.halves[position % 2].add(ndcg);
            figures.recall_at_5.add(measure::recall(&is_relevant, 5, query.relevant.len()));
            figures.recall_at_10.add(measure::recall(&is_relevant, 10, query.relevant.len()));
        }
        figures.times.sort();
        figures
    }

    /// The time that a percentage of the queries takes at most.
    fn milliseconds(&self, percent: usize) -> f64 {
        let time = self.times.get(self.times.len() * percent / 100);
        1_000.0 * time.copied().unwrap_or_default().as_secs_f64()
    }
}
