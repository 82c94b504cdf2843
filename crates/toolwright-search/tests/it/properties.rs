//! Properties of every ranking, on generated catalogs.

use proptest::prelude::*;
use toolwright_search::{Document, Index, Options, Prefab, Ranker};

/// Documents and queries over a small vocabulary, so that many of them match.
fn text() -> impl Strategy<Value = String> {
    let words = [
        "get",
        "weather",
        "forecast",
        "air quality",
        "天气",
        "预报",
        "parseFile",
        "movie",
        "film",
        "42",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..8).prop_map(|w| w.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let document = (0..12_u8, text(), text(), text());
    prop::collection::vec(document, 0..12).prop_map(|documents| {
        let with_texts = |(id, name, description, tag): (u8, String, String, String)| Document {
            id: format!("id{id}"),
            name,
            description,
            prefab: Prefab { tags: vec![tag], ..Prefab::default() }.into(),
            ..Document::default()
        };
        documents.into_iter().map(with_texts).collect()
    })
}

fn index_of<'d>(documents: impl IntoIterator<Item = &'d Document>) -> Index {
    let mut index = Index::new();
    documents.into_iter().for_each(|document| index.add(document.clone()));
    index
}

proptest! {
    #[test]
    fn a_removed_document_was_never_added(
        kept in documents(), removed in documents(), query in text(),
    ) {
        let kept: Vec<Document> = kept
            .into_iter()
            .map(|document| Document { id: format!("kept-{}", document.id), ..document })
            .collect();
        let mut index = index_of(removed.iter().chain(&kept));
        for document in &removed {
            index.remove(&document.id);
        }
        let never_added = index_of(&kept);
        let options = Options::default().with_weak_hits(true);
        for ranker in [Ranker::Search, Ranker::Recommend] {
            prop_assert_eq!(
                index.rank(ranker, &query, &options),
                never_added.rank(ranker, &query, &options)
            );
        }
        prop_assert_eq!(index.len(), never_added.len());
    }

    #[test]
    fn the_order_of_additions_does_not_matter(documents in documents(), query in text()) {
        let mut distinct = documents;
        distinct.sort_by(|a, b| a.id.cmp(&b.id));
        distinct.dedup_by(|a, b| a.id == b.id);
        let (forward, backward) = (index_of(&distinct), index_of(distinct.iter().rev()));
        for ranker in [Ranker::Search, Ranker::Recommend] {
            let options = Options::default();
            prop_assert_eq!(
                forward.rank(ranker, &query, &options),
                backward.rank(ranker, &query, &options)
            );
        }
    }

    #[test]
    fn any_text_is_accepted(text in ".*", query in ".*") {
        let mut index = Index::new();
        index.add(Document { id: "id".into(), name: text.clone(), description: text, ..Document::default() });
        for ranker in [Ranker::Search, Ranker::Recommend] {
            index.rank(ranker, &query, &Options::default());
        }
        prop_assert!(index.remove("id"));
        prop_assert!(index.is_empty());
    }
}
