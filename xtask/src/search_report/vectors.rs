//! `recommend` with word vectors, beside the same without.

use std::fs;
use std::path::Path;

use toolwright_search::{Options, WordVectors};

use super::{Figures, Set, share_of_empty, unreadable};
use crate::run::Outcome;

const HEADER: &str = "
Word vectors                       recommend with vectors                             without
set            tools  queries      nDCG@10  R@5  R@10   even   odd  queries covered   nDCG@10   off-topic empty";

/// Evaluates the sets with the vectors of a file.
pub(super) fn run(sets: &[Set], file: &str) -> Outcome {
    let file = std::env::current_dir()?.join(file);
    let tokenizer = file.with_file_name("tokenizer.json");
    let read = |path: &Path| fs::read(path).map_err(unreadable(path));
    let vectors = WordVectors::parse(read(&file)?, &read(&tokenizer)?);
    let vectors = vectors.map_err(unreadable(&file))?;
    println!("{HEADER}");
    for set in sets {
        println!("{}", report(set, &vectors));
    }
    Ok(())
}

/// A line of the table.
fn report(set: &Set, vectors: &WordVectors) -> String {
    let mut index = set.index();
    index.set_vector_model(vectors.model());
    for document in &set.documents {
        index.set_vector(&document.id, vectors.embed(&document.vector_text()).as_deref());
    }
    let recommend =
        |text: &str| index.recommend(text, &Options::default().with_vector(vectors.embed(text)));
    let with = Figures::measure(&set.queries, recommend);
    let without = Figures::measure(&set.queries, |text| index.recommend(text, &Options::default()));
    let covered = set.queries.iter().filter(|query| vectors.embed(&query.text).is_some()).count();
    format!(
        "{:13}{:7}{:9}{:13}{:5}{:6}{:7}{:6}{:17}{:10}{:18}",
        set.name,
        set.documents.len(),
        set.queries.len(),
        with.ndcg,
        with.recall_at_5,
        with.recall_at_10,
        with.halves[0],
        with.halves[1],
        covered,
        without.ndcg,
        share_of_empty(recommend),
    )
}
