//! Queries in one language over functions that are described in the other.

use toolwright_search::{Dictionary, Document, Index, Options};

const ENTRIES: &str = "\
# A comment
#! version=1
天氣 天气 [tian1 qi4] /weather/CL:種|种[zhong3]/
天氣預報 天气预报 [tian1 qi4 yu4 bao4] /weather forecast/
預報 预报 [yu4 bao4] /forecast/
文件 文件 [wen2 jian4] /document/file/
解析 解析 [jie3 xi1] /to parse; to analyze/(math.) analytic/
歌 歌 [ge1] /song/
";

fn dictionary() -> Dictionary {
    Dictionary::parse(ENTRIES).expect("a dictionary")
}

fn index(functions: &[(&str, &str)]) -> Index {
    let mut index = Index::new();
    for (name, description) in functions {
        index.add(Document {
            id: (*name).to_owned(),
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            ..Document::default()
        });
    }
    index
}

fn first(index: &Index, query: &str) -> Option<String> {
    let options = Options::default().with_concepts(dictionary().translate(query));
    index.recommend(query, &options).into_iter().next().map(|hit| hit.id)
}

#[test]
fn a_need_in_chinese_finds_a_tool_that_is_described_in_english() {
    let index = index(&[
        ("get_forecast", "Weather forecast for a city"),
        ("parse_file", "Parses an uploaded document"),
        ("play", "Plays a song"),
    ]);
    for (query, id) in [
        ("查一下明天的天气预报", "get_forecast"),
        ("幫我查天氣", "get_forecast"),
        ("解析这个文件", "parse_file"),
        ("我想听歌", "play"),
    ] {
        assert_eq!(first(&index, query).as_deref(), Some(id), "{query}");
    }
    assert_eq!(first(&index, "量子色动力学"), None);
}

#[test]
fn a_need_in_english_finds_a_tool_that_is_described_in_chinese() {
    let index = index(&[("查询天气", "查询城市的天气预报"), ("解析文件", "提取文件的内容")]);
    assert_eq!(first(&index, "tomorrow's weather").as_deref(), Some("查询天气"));
    assert_eq!(first(&index, "parsing documents").as_deref(), Some("解析文件"));
}

#[test]
fn remarks_are_no_translations() {
    let concepts = dictionary().translate("天气 解析");
    let texts: Vec<&str> = concepts
        .iter()
        .flat_map(|concept| &concept.alternatives)
        .map(|(text, _)| &**text)
        .collect();
    assert_eq!(texts, ["weather", "to parse", "to analyze", "analytic"]);
}

#[test]
fn a_line_that_is_no_entry_is_named() {
    let error = Dictionary::parse("# comment\n天氣 天气 weather\n").err().expect("an error");
    assert_eq!(error.line, 2);
    assert!(error.to_string().contains("line 2"));
}
