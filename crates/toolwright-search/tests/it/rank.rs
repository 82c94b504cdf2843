//! Rankings of a small catalog.

use toolwright_search::{
    Concept, Document, Field, Hit, Index, Options, Parameter, Prefab, PrefabHit, Ranker,
};

fn function(id: &str, description: &str) -> Document {
    let (prefab, name) = id.split_once('/').unwrap_or(("", id));
    Document {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        prefab: Prefab { id: prefab.to_owned(), ..Prefab::default() }.into(),
        ..Document::default()
    }
}

fn catalog() -> Index {
    let mut index = Index::new();
    let documents = [
        function("weather/get_forecast", "Weather forecast for a city"),
        function("天气/查询天气", "查询城市的天气预报"),
        function("погода/узнать_погоду", "Прогноз погоды для города"),
        function("files/parse_file", "Extracts text and tables from an uploaded document"),
        function("files/parseFileName", "Splits a path into folder and name"),
        function("cinema/find_film", "Finds films by title and year"),
        function("media/play", "Plays an audio file"),
        Document {
            prefab: Prefab {
                id: "media".into(),
                tags: vec!["Video".into()],
                author: "Ada".into(),
                ..Prefab::default()
            }
            .into(),
            parameters: vec![Parameter {
                name: "frame_rate".into(),
                description: "Frames for each second".into(),
            }],
            ..function("media/convert", "Converts between formats")
        },
    ];
    for document in documents {
        index.add(document);
    }
    index
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn search(query: &str) -> Vec<Hit> {
    catalog().search(query, &Options::default())
}

#[test]
fn queries_in_chinese_and_russian_find_functions_that_are_described_so() {
    let index = catalog();
    for (query, id) in [
        ("天气预报", "天气/查询天气"),
        ("请帮我查一下北京明天的天气预报", "天气/查询天气"),
        ("прогнозы погоды", "погода/узнать_погоду"),
        ("Какая погода будет завтра в городе?", "погода/узнать_погоду"),
    ] {
        for ranker in [Ranker::Search, Ranker::Recommend] {
            let hits = index.rank(ranker, query, &Options::default());
            assert_eq!(ids(&hits).first(), Some(&id), "{ranker:?} {query}");
        }
    }
}

#[test]
fn every_exact_name_is_the_first_hit() {
    let mut index = Index::new();
    let words = ["get", "list", "file", "files", "user", "天气"];
    let names: Vec<String> = words
        .iter()
        .flat_map(|first| words.iter().map(move |second| format!("{first}_{second}")))
        .collect();
    for name in &names {
        index.add(function(&format!("prefab/{name}"), &names.join(" ")));
    }
    for name in &names {
        for ranker in [Ranker::Search, Ranker::Recommend] {
            let hits = index.rank(ranker, name, &Options::default());
            assert_eq!(hits[0].name, *name, "{ranker:?}");
            assert!(hits[0].is_exact);
        }
    }
}

#[test]
fn an_exact_name_is_the_first_hit() {
    let mut index = catalog();
    for number in 0..20 {
        let id = format!("other{number}/parse_file_parse_file");
        index.add(function(&id, "parse file parse file parse file"));
    }
    for query in ["parse_file", "parseFile", "Parse File", "files/parse_file"] {
        let hits = index.search(query, &Options::default());
        assert_eq!(hits[0].id, "files/parse_file", "{query}");
        assert!(hits[0].is_exact);
        assert!(!hits[1].is_exact);
        assert_eq!(index.recommend(query, &Options::default())[0].id, "files/parse_file");
    }
}

#[test]
fn a_name_of_stop_words_is_found() {
    let mut index = catalog();
    index.add(function("unix/who", "Logged-in users"));
    assert_eq!(ids(&index.search("who", &Options::default())), ["unix/who"]);
}

#[test]
fn nothing_relevant_is_an_empty_answer() {
    for query in ["", "?!", "the", "xylophone", "量子色动力学", "good morning everyone"] {
        assert!(search(query).is_empty(), "{query}");
        assert!(catalog().recommend(query, &Options::default()).is_empty(), "{query}");
    }
    assert!(catalog().hint(&Options::default()).contains("other or fewer words"));
}

#[test]
fn hits_below_the_threshold_are_few_and_marked() {
    let mut index = catalog();
    let marked = |index: &Index, query: &str| {
        let options = Options::default().with_weak_hits(true);
        let hits = index.recommend(query, &options);
        hits.into_iter().map(|hit| hit.is_weak).collect::<Vec<_>>()
    };
    for number in 0..200 {
        index.add(function(&format!("mail/send_{number}"), "Sends a message to a friend"));
    }
    let need = "a friend shows me the telescope behind the lighthouse on the cliff";
    assert!(index.recommend(need, &Options::default()).is_empty());
    assert_eq!(marked(&index, need), [true; 5]);
    assert!(marked(&index, "telescope").is_empty());
    let mixed = marked(&index, "weather forecast of a city for a friend behind the lighthouse");
    assert!(!mixed[0] && *mixed.last().unwrap(), "{mixed:?}");
    assert!(mixed.is_sorted(), "weak hits come after the others: {mixed:?}");
    assert_eq!(marked(&index, "media/play")[..1], [false]);
}

/// A prefab whose functions have long descriptions, like those of public APIs.
fn large_api() -> Index {
    let mut index = Index::new();
    let remark = "Invoices are listed with their dates. A list has open invoices and paid ones.";
    for (name, summary) in [
        ("billing_list", "List open invoices"),
        ("customers_list_open_invoices_of_customer", "List the open invoices of a customer"),
        ("open_invoice_reminders_list", "List reminders"),
        ("comments_list_for_open_invoice", "List comments for an open invoice"),
        ("billing_create", "Create an invoice"),
    ] {
        index.add(function(&format!("api/{name}"), &format!("{summary}\n\n{remark}")));
    }
    for number in 0..100 {
        let description = format!("Get record {number}. Records are kept for a year.");
        index.add(function(&format!("api/records_get_{number}"), &description));
    }
    index
}

#[test]
fn a_first_sentence_that_is_the_query_comes_first() {
    let index = large_api();
    for ranker in [Ranker::Search, Ranker::Recommend] {
        for query in ["list open invoices", "List the open invoices!"] {
            let hits = index.rank(ranker, query, &Options::default());
            assert_eq!(hits[0].id, "api/billing_list", "{ranker:?} {query}");
        }
        let hits = index.rank(ranker, "get record 42", &Options::default());
        assert_eq!(hits[0].id, "api/records_get_42", "{ranker:?}");
    }
}

#[test]
fn a_first_sentence_that_is_the_query_comes_first_in_a_large_prefab() {
    let mut index = large_api();
    for number in 0..40 {
        let description =
            format!("List reminders of kind {number}\n\nOpen invoices have reminders.");
        index.add(function(&format!("api/open_invoices_list_{number}"), &description));
    }
    for ranker in [Ranker::Search, Ranker::Recommend] {
        let hits = index.rank_prefabs(ranker, "list open invoices", &Options::default(), 3);
        assert_eq!(hits[0].functions[0].id, "api/billing_list", "{ranker:?}");
        assert_eq!(hits[0].functions.len(), 7, "{ranker:?}");
    }
}

#[test]
fn an_explanation_of_a_first_sentence_adds_up() {
    let (index, options) = (large_api(), Options::default());
    let query = "list open invoices";
    let hit = &index.recommend(query, &options)[0];
    let matches = index.explain(Ranker::Recommend, query, &options, &hit.id);
    let sum: f32 = matches.iter().map(|found| found.weight).sum();
    assert!((sum - hit.score).abs() < 1e-3, "{sum} is not {}: {matches:?}", hit.score);
}

#[test]
fn the_hint_depends_on_what_the_caller_can_see() {
    let index = catalog();
    let nothing = |_: &str| false;
    let with_tag = Options::default().with_tag("no such tag");
    assert!(index.hint(&with_tag).contains("tag"));
    let empty = Index::new().hint(&Options::default());
    assert_eq!(index.hint(&Options::default().with_filter(&nothing)), empty);
    assert_eq!(index.hint(&with_tag.with_filter(&nothing)), empty);
}

#[test]
fn a_misspelled_name_is_found() {
    assert_eq!(search("get_forcast")[0].id, "weather/get_forecast");
    assert_eq!(search("cnovert")[0].id, "media/convert");
}

#[test]
fn parameters_are_found() {
    assert_eq!(search("frame rate")[0].id, "media/convert");
}

#[test]
fn tags_and_author_filter() {
    let index = catalog();
    let with_tag = Options::default().with_tag("video");
    assert_eq!(ids(&index.search("convert file", &with_tag)), ["media/convert"]);
    let with_tags = with_tag.with_tag("other");
    assert_eq!(ids(&index.search("convert file", &with_tags)), ["media/convert"]);
    let with_author = Options::default().with_author("ada");
    assert_eq!(ids(&index.search("convert file", &with_author)), ["media/convert"]);
    assert!(index.search("parse_file", &with_author).is_empty());
}

#[test]
fn recommend_knows_synonyms_and_search_does_not() {
    let index = catalog();
    let need = "tell me about some movies";
    assert_eq!(index.recommend(need, &Options::default())[0].id, "cinema/find_film");
    assert!(index.search(need, &Options::default()).is_empty());
}

#[test]
fn adjacent_words_decide_between_equal_words() {
    let mut index = Index::new();
    index.add(function("a/first", "air measured in terms of quality, indoor"));
    index.add(function("b/second", "indoor measured in terms of air quality"));
    let hits = index.recommend("air quality", &Options::default());
    assert_eq!(ids(&hits), ["b/second", "a/first"]);
}

#[test]
fn an_additional_concept_bridges_languages() {
    let index = catalog();
    let concept = Concept { alternatives: vec![("audio file".into(), 1.0)] };
    let options = Options::default().with_concepts([concept]).with_weak_hits(true);
    assert_eq!(index.recommend("录音", &options)[0].id, "media/play");
}

#[test]
fn an_explanation_names_fields_and_terms_and_adds_up() {
    let index = catalog();
    let options = Options::default();
    for ranker in [Ranker::Search, Ranker::Recommend] {
        let query = "weather forecast for my city";
        let hit = &index.rank(ranker, query, &options)[0];
        let matches = index.explain(ranker, query, &options, &hit.id);
        let sum: f32 = matches.iter().map(|found| found.weight).sum();
        assert!((sum - hit.score).abs() < 1e-3, "{sum} is not {}", hit.score);
        let has_name = matches.iter().any(|m| m.field == Field::Name && m.term == "forecast");
        assert!(has_name, "{matches:?}");
    }
    assert!(index.explain(Ranker::Search, "weather", &options, "no/such").is_empty());
}

#[test]
fn a_document_with_the_same_id_is_replaced() {
    let mut index = catalog();
    let count = index.len();
    index.add(function("media/play", "Stops the music"));
    assert_eq!(index.len(), count);
    assert!(index.search("audio", &Options::default()).is_empty());
    assert_eq!(index.search("music", &Options::default())[0].id, "media/play");
}

#[test]
fn a_refused_function_is_in_no_result_and_takes_no_place() {
    let mut index = catalog();
    for number in 0..200 {
        index.add(function(&format!("private/parse_file_{number}"), "Parses a file"));
    }
    index.add(function("private/secret", "Parses a file"));
    let is_public = |id: &str| !id.starts_with("private/");
    let options = Options::default().with_filter(&is_public).with_limit(1);
    for ranker in [Ranker::Search, Ranker::Recommend] {
        assert_eq!(ids(&index.rank(ranker, "parse a file", &options)), ["files/parse_file"]);
        assert!(index.rank(ranker, "secret", &options).is_empty());
        assert!(index.rank_prefabs(ranker, "private", &options, 3).is_empty());
    }
    assert_eq!(index.remove_prefab("private"), 201);
    assert_eq!(index.len(), catalog().len());
}

fn prefab_ids(hits: &[PrefabHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.prefab.id.as_str()).collect()
}

#[test]
fn prefabs_are_ranked_by_their_best_functions() {
    let mut index = catalog();
    for number in 0..200 {
        index.add(function(&format!("archive/parse_file_{number}"), "Parses a file of an archive"));
    }
    let options = Options::default();
    let hits = index.rank_prefabs(Ranker::Recommend, "parse a file", &options, 2);
    assert_eq!(prefab_ids(&hits)[..2], ["files", "archive"], "a name that is the need");
    assert_eq!(ids(&hits[0].functions), ["files/parse_file", "files/parseFileName"]);
    assert_eq!(hits[1].functions.len(), 10, "of a large prefab more are named");
    assert!(hits[2..].iter().all(|hit| hit.functions.len() <= 2));

    let exact = index.rank_prefabs(Ranker::Search, "Files", &options, 1);
    assert_eq!(exact[0].prefab.id, "files");
    assert!(exact[0].is_exact);
}

#[test]
fn without_a_query_all_prefabs_are_listed() {
    let index = catalog();
    let all = index.rank_prefabs(Ranker::Search, " ", &Options::default(), 1);
    let ids: Vec<&str> = index.prefabs().map(|prefab| prefab.id.as_str()).collect();
    assert_eq!(prefab_ids(&all), ids);
    let with_tag = Options::default().with_tag("video");
    assert_eq!(prefab_ids(&index.rank_prefabs(Ranker::Search, "", &with_tag, 1)), ["media"]);
    assert!(index.rank_prefabs(Ranker::Search, "?!", &with_tag, 1).is_empty());
}

#[test]
fn equal_scores_are_ordered_by_id() {
    let mut index = Index::new();
    for number in (0..1000).rev() {
        index.add(function(&format!("prefab/{number:04}_play"), "Plays a song"));
    }
    let first: Vec<String> = (0..10).map(|number| format!("prefab/{number:04}_play")).collect();
    for ranker in [Ranker::Search, Ranker::Recommend] {
        assert_eq!(ids(&index.rank(ranker, "play", &Options::default())), first);
    }
    let is_late = |id: &str| id > "prefab/0900";
    let options = Options::default().with_filter(&is_late).with_limit(2);
    let late = ["prefab/0900_play", "prefab/0901_play"];
    assert_eq!(ids(&index.search("play", &options)), late);
}
