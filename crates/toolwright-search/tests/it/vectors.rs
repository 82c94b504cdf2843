//! Rankings with vectors.

use toolwright_search::{Document, Index, Options};

const MODEL: &str = "model";

fn index() -> Index {
    let mut index = Index::new();
    index.set_vector_model(MODEL);
    for (id, description, vector) in [
        ("a", "car status", Some([1.0, 0.0])),
        ("b", "weather status", Some([0.0, 1.0])),
        ("c", "other status", None),
        ("d", "other things", None),
    ] {
        let description = description.to_owned();
        let document = Document { id: id.into(), description, ..Document::default() };
        index.add(document);
        index.set_vector(id, vector.as_ref().map(<[f32; 2]>::as_slice));
    }
    index
}

fn recommended(index: &Index, need: &str, vector: Option<Vec<f32>>) -> Vec<String> {
    let hits = index.recommend(need, &Options::default().with_vector(vector));
    hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn similar_meaning_comes_first_and_finds_nothing_new() {
    let index = index();
    let plain = recommended(&index, "status", None);
    assert_eq!(plain, ["c", "a", "b"]);
    assert_eq!(recommended(&index, "status", Some(vec![0.1, 1.0]))[0], "b");
    assert_eq!(recommended(&index, "status", Some(vec![1.0, 0.1]))[0], "a");
    assert_eq!(recommended(&index, "status", Some(vec![1.0])), plain, "of another length");
    assert!(recommended(&index, "telescope", Some(vec![1.0, 0.0])).is_empty());
    let options = Options::default().with_vector(Some(vec![0.1, 1.0]));
    assert_eq!(index.search("status", &options)[0].id, "c", "keywords stay keywords");
}

#[test]
fn vectors_are_in_the_snapshot_and_belong_to_a_model() {
    let mut index = index();
    index.add(Document { id: "e".into(), name: "status".into(), ..Document::default() });
    let mut copy = Index::from_snapshot(&index.to_snapshot()).expect("they are valid");
    assert_eq!(copy.ids_without_vector().collect::<Vec<_>>(), ["e"]);
    let vector = Some(vec![0.1, 1.0]);
    let ranked = recommended(&index, "weather status", vector.clone());
    assert_eq!(recommended(&copy, "weather status", vector), ranked);
    copy.set_vector_model(MODEL);
    assert_eq!(copy.ids_without_vector().count(), 1);
    copy.remove("a");
    copy.set_vector_model("another");
    assert_eq!(copy.ids_without_vector().collect::<Vec<_>>(), ["b", "c", "d", "e"]);
}
