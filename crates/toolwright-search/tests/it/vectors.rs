//! Word vectors, and rankings with vectors.

use toolwright_search::{Document, Index, Options, WordVectors};

/// A safetensors file of one matrix.
fn safetensors(name: &str, format: &str, rows: &[[f32; 2]]) -> Vec<u8> {
    let numbers = rows.iter().flatten().flat_map(|number| match format {
        "BF16" => number.to_le_bytes()[2..].to_vec(),
        "F16" => half(*number).to_le_bytes().to_vec(),
        _ => number.to_le_bytes().to_vec(),
    });
    let numbers: Vec<u8> = numbers.collect();
    let header = format!(
        r#"{{"{name}":{{"dtype":"{format}","shape":[{},2],"data_offsets":[0,{}]}}}}"#,
        rows.len(),
        numbers.len()
    );
    let length = u64::try_from(header.len()).expect("it is short").to_le_bytes();
    [&length, header.as_bytes(), &numbers].concat()
}

/// Half precision of 0, 1, -1 and 0.5; of others, no number.
fn half(number: f32) -> u16 {
    match number {
        0.0 => 0,
        1.0 => 0x3c00,
        -1.0 => 0xbc00,
        0.5 => 0x3800,
        _ => u16::MAX,
    }
}

const ROWS: [[f32; 2]; 5] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.0, -1.0]];

const WORD_PIECES: &str = r###"{"model":{"type":"WordPiece",
    "vocab":{"status":0,"car":1,"weather":2,"##port":3,"天气":4}}}"###;

fn word_pieces() -> WordVectors {
    WordVectors::parse(safetensors("embeddings", "F32", &ROWS), WORD_PIECES.as_bytes())
        .expect("they are valid")
}

#[test]
fn a_text_has_the_sum_of_its_pieces() {
    let vectors = word_pieces();
    assert_eq!(vectors.embed("the Car"), Some(vec![1.0, 0.0]));
    assert_eq!(vectors.embed("carPort weather"), Some(vec![1.5, 1.0]));
    assert_eq!(vectors.embed("天气"), Some(vec![0.0, -1.0]));
    assert_eq!(vectors.embed("a vehicle"), None, "no word is known");
    assert_eq!(vectors.embed("car"), Some(vec![1.0, 0.0]));
    assert_eq!(vectors.embed("一辆很好的 car"), None, "most letters are not known");
    assert_eq!(vectors.embed(""), None);
}

#[test]
fn a_sentence_without_spaces_is_split_into_its_pieces_at_any_length() {
    let tokenizer = r###"{"model":{"vocab":{"[UNK]":0,"天气":2,"##天气":2,"##预报":1}}}"###;
    let file = safetensors("embeddings", "F32", &ROWS);
    let vectors = WordVectors::parse(file, tokenizer.as_bytes()).expect("they are valid");
    // If each start tried all ends, this would take hours.
    let sentence = "天气预报".repeat(10_000);
    assert_eq!(vectors.embed(&sentence), Some(vec![10_000.0, 10_000.0]));
}

#[test]
fn all_formats_and_vocabularies_are_read() {
    let pieces = r#"{"model":{"vocab":{"<unk>":0,"▁car":1,"▁weather":2,"port":3,"c":4}}}"#;
    let unigram =
        r#"{"model":{"vocab":[["<unk>",0],["▁car",-1.5],["▁weather",-2],["port",-3],["c",-4]]}}"#;
    let bytes = r#"{"model":{"vocab":{"<unk>":0,"Ġcar":1,"Ġweather":2,"port":3,"c":4}}}"#;
    for (tensor, format, tokenizer) in
        [("embedding.weight", "F16", pieces), ("0", "BF16", unigram), ("embeddings", "F32", bytes)]
    {
        let file = safetensors(tensor, format, &ROWS);
        let vectors = WordVectors::parse(file, tokenizer.as_bytes()).expect("they are valid");
        assert_eq!(vectors.embed("carport weather"), Some(vec![1.5, 1.0]), "{format}");
        assert_eq!(vectors.embed("ccc"), None, "pieces of one letter say nothing");
    }
}

#[test]
fn files_that_are_no_vectors_are_refused_with_the_reason() {
    let whole = safetensors("embeddings", "F32", &ROWS);
    let error = |file: Vec<u8>, tokenizer: &str| {
        WordVectors::parse(file, tokenizer.as_bytes()).err().expect("they are valid").to_string()
    };
    for (file, tokenizer, wanted) in [
        (b"short".to_vec(), WORD_PIECES, "too short"),
        (vec![0xff; 64], WORD_PIECES, "header is cut off"),
        ([&[4, 0, 0, 0, 0, 0, 0, 0], &b"{\"a\""[..]].concat(), WORD_PIECES, "not valid JSON"),
        (whole[..whole.len() - 1].to_vec(), WORD_PIECES, "numbers are cut off"),
        (safetensors("layer.weight", "F32", &ROWS), WORD_PIECES, "but: layer.weight; use a file"),
        (safetensors("embeddings", "I8", &ROWS), WORD_PIECES, "convert it to F16 or F32"),
        (safetensors("embeddings", "F32", &ROWS[..2]), WORD_PIECES, "must belong together"),
        (whole.clone(), "{}", "no `model.vocab`"),
        (whole.clone(), "?", "tokenizer.json: it is not valid JSON"),
    ] {
        let error = error(file, tokenizer);
        assert!(error.contains(wanted), "{error}");
    }
}

fn index(vectors: &WordVectors) -> Index {
    let mut index = Index::new();
    index.set_vector_model(vectors.model());
    for (id, description) in
        [("a", "car status"), ("b", "weather status"), ("c", "other status"), ("d", "other things")]
    {
        let description = description.to_owned();
        let document = Document { id: id.into(), description, ..Document::default() };
        let vector = vectors.embed(&document.vector_text());
        index.add(document);
        index.set_vector(id, vector.as_deref());
    }
    index
}

fn recommended(index: &Index, need: &str, vector: Option<Vec<f32>>) -> Vec<String> {
    let hits = index.recommend(need, &Options::default().with_vector(vector));
    hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn similar_meaning_comes_first_and_finds_nothing_new() {
    let index = index(&word_pieces());
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
    let vectors = word_pieces();
    let mut index = index(&vectors);
    index.add(Document { id: "e".into(), name: "status".into(), ..Document::default() });
    let mut copy = Index::from_snapshot(&index.to_snapshot()).expect("they are valid");
    assert_eq!(copy.ids_without_vector().collect::<Vec<_>>(), ["e"]);
    let vector = Some(vec![0.1, 1.0]);
    let ranked = recommended(&index, "weather status", vector.clone());
    assert_eq!(recommended(&copy, "weather status", vector), ranked);
    copy.set_vector_model(vectors.model());
    assert_eq!(copy.ids_without_vector().count(), 1);
    copy.remove("a");
    copy.set_vector_model("another");
    assert_eq!(copy.ids_without_vector().collect::<Vec<_>>(), ["b", "c", "d", "e"]);
}
