//! Tables: from a file through two tools, without a cell in any message to the model.

use std::sync::Arc;

use toolwright_core::{Arguments, Call, Json};
use toolwright_runtime::builtin::{Root, Table, csv, data};
use toolwright_runtime::call::Completeness;
use toolwright_runtime::handle::{HandleStore, MemoryHandles};
use toolwright_runtime::toolbox::Toolbox;
use toolwright_runtime::{Context, Session};

use super::{Bench, handle_in, words};

const PEOPLE: &str = "姓名,年龄,城市\n张三,34,北京\n李四,,上海\n王五,28,NA\n赵六,41,深圳\n";
const CELLS: [&str; 11] =
    ["张三", "李四", "王五", "赵六", "34", "28", "41", "北京", "上海", "深圳", "NA"];

fn parse(text: &str) -> Table {
    csv::parse(text.as_bytes(), b',').unwrap()
}

fn cells(table: &Table) -> String {
    Json::from(table.rows.clone()).compact()
}

#[test]
fn columns_have_types() {
    let table = parse(
        "id,code,price,flag,note,none\n\
         12345678901234567890,007,1.50,true,a,\n\
         -1,8,2e400,FALSE,,NaN\n",
    );
    assert_eq!(
        cells(&table),
        r#"[[12345678901234567890,"007",1.50,true,"a",null],[-1,"8",2e400,false,null,null]]"#
    );
}

#[test]
fn common_null_words_are_missing_values() {
    for word in csv::MISSING {
        assert_eq!(cells(&parse(&format!("a,b\n1, {word} \n"))), "[[1,null]]", "{word}");
    }
    // Other words are values.
    assert_eq!(cells(&parse("a,b\n1,na\n2,-\n")), r#"[[1,"na"],[2,"-"]]"#);
}

#[test]
fn byte_order_marks_quotes_and_line_breaks_are_parsed() {
    let table = parse("\u{feff}\"a\",b\r\n\"x\ny\",\"say \"\"hi\"\", 你\"\r\n\r\n");
    assert_eq!(table.columns, ["a", "b"]);
    assert_eq!(cells(&table), r#"[["x\ny","say \"hi\", 你"]]"#);
}

#[test]
fn every_column_has_a_unique_name() {
    assert_eq!(parse("a,,a,a_2,\n").columns, ["a", "column_2", "a_2", "a_2_2", "column_5"]);
}

#[test]
fn a_malformed_table_is_refused_with_its_line() {
    let refused = |bytes: &[u8]| csv::parse(bytes, b',').unwrap_err().to_string();
    assert!(refused(b"").contains("empty"));
    let ragged = refused("a,b\n1,2\n\"x\ny\",2\n3\n".as_bytes());
    assert!(ragged.contains("line 5 has 1 fields where the header has 2"), "{ragged}");
    // GBK, and UTF-16 with a byte order mark.
    let gbk = refused(b"a,b\n1,2\n\xd5\xc5\xc8\xfd,3\n");
    assert!(gbk.contains("line 3 is not UTF-8"), "{gbk}");
    assert!(refused(b"\xff\xfea\0").contains("line 1 is not UTF-8"));
}

#[test]
fn a_small_file_does_not_expand_to_a_huge_table() {
    let wide = csv::parse(",".repeat(10_000).as_bytes(), b',').unwrap_err();
    assert!(wide.to_string().contains("more than 10000 columns"), "{wide}");
    let line = format!("{}\n", ",".repeat(999));
    let many = csv::parse(line.repeat(5002).as_bytes(), b',').unwrap_err();
    assert!(many.to_string().contains("more than 5000000 cells"), "{many}");
    let same = csv::parse("a,".repeat(9_999).as_bytes(), b',').unwrap();
    assert_eq!((&*same.columns[9_998], &*same.columns[9_999]), ("a_9999", "column_10000"));
}

#[tokio::test]
async fn a_tsv_file_has_tabs() {
    let bench = Bench::new();
    bench.put("a.TSV", "a\tb\n1,2\t3\n");
    let text = bench.call("read_csv", r#"{"path":"a.TSV"}"#).await.unwrap();
    assert!(text.starts_with("Read a.TSV: 1 row, 2 columns (a, b); no cell is missing."), "{text}");
}

#[tokio::test]
async fn a_table_passes_by_handle() {
    let bench = Bench::new();
    bench.put("people.csv", PEOPLE);
    let read = bench.call("read_csv", r#"{"path":"people.csv"}"#).await.unwrap();
    let about =
        "Read people.csv: 4 rows, 3 columns (姓名, 年龄, 城市); missing cells: 年龄 1, 城市 1.";
    assert!(read.starts_with(about), "{read}");
    let arguments = format!(r#"{{"table":"{}"}}"#, handle_in(&read));
    let dropped = bench.call("drop_missing", &arguments).await.unwrap();
    assert!(dropped.starts_with("Removed 2 rows. Left: 2 rows, 3 columns"), "{dropped}");
    for text in [&read, &dropped] {
        // The handle itself contains digits.
        let text = text.replace(handle_in(text), "");
        assert!(!CELLS.iter().any(|cell| text.contains(cell)), "{text}");
    }
    // The value of the handle can be written to a file, or used in part.
    let arguments =
        format!(r#"{{"path":"first.json","content":"{}#/rows/1"}}"#, handle_in(&dropped));
    bench.call("write_file", &arguments).await.unwrap();
    let written = std::fs::read_to_string(bench.root().join("first.json")).unwrap();
    assert_eq!(written, r#"["赵六",41,"深圳"]"#);
}

#[tokio::test]
async fn rows_can_be_dropped_by_selected_columns() {
    let bench = Bench::new();
    bench.put("people.csv", PEOPLE);
    let read = bench.call("read_csv", r#"{"path":"people.csv"}"#).await.unwrap();
    let id = handle_in(&read);
    let arguments = format!(r#"{{"table":"{id}","columns":["年龄"]}}"#);
    let dropped = bench.call("drop_missing", &arguments).await.unwrap();
    assert!(dropped.starts_with("Removed 1 row. Left: 3 rows"), "{dropped}");
    let arguments = format!(r#"{{"table":"{id}","columns":["age"]}}"#);
    bench
        .refused(
            "drop_missing",
            &arguments,
            "item 0 (from 0) is no column of the table, whose columns are 姓名",
        )
        .await;
}

#[tokio::test]
async fn a_malformed_table_is_refused_without_quoting_cells() {
    let bench = Bench::new();
    bench.put("people.csv", PEOPLE);
    let read = bench.call("read_csv", r#"{"path":"people.csv"}"#).await.unwrap();
    let id = handle_in(&read);
    let wrong = [
        format!(r#"{{"table":"{id}#/rows"}}"#),
        format!(r#"{{"table":{{"columns":["a"],"rows":"{id}#/rows"}}}}"#),
        format!(r#"{{"table":"{id}","columns":"{id}#/rows/0"}}"#),
        format!(r#"{{"table":"{id}#/rows/9"}}"#),
    ];
    for arguments in wrong {
        let error = bench.call("drop_missing", &arguments).await.unwrap_err();
        let error = error.replace(id, "");
        assert!(!CELLS.iter().any(|cell| error.contains(cell)), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn a_table_passes_in_the_context() {
    let bench = Bench::new();
    bench.put("people.csv", PEOPLE);
    let root = Root::open(bench.root()).unwrap();
    let toolbox = Toolbox::new(data::in_context(&root)).unwrap();
    assert!(toolbox.check_context(&Context::new()).is_err());
    let context = Context::new().with(Table::default());
    assert!(toolbox.check_context(&context).is_ok());
    let session = Session::new("run").with_context(context.clone());
    let call = async |id: &str, tool: &str, arguments: &str| {
        let call = Call::new(id, tool, Arguments::from_text(arguments));
        let done = toolbox.call_with(&session, &call, Completeness::Complete).await;
        words(&done.result().unwrap().outcome.content)
    };
    let early = call("1", "drop_missing", "{}").await;
    assert!(early.contains("call read_csv first"), "{early}");
    let read = call("2", "read_csv", r#"{"path":"people.csv"}"#).await;
    let dropped = call("3", "drop_missing", "{}").await;
    assert_eq!(
        read,
        "Read people.csv: 4 rows, 3 columns (姓名, 年龄, 城市); missing cells: 年龄 1, 城市 1."
    );
    assert_eq!(
        dropped,
        "Removed 2 rows. Left: 2 rows, 3 columns (姓名, 年龄, 城市); no cell is missing."
    );
    let table = context.read::<Table>().await.unwrap();
    assert_eq!(cells(&table), r#"[["张三",34,"北京"],["赵六",41,"深圳"]]"#);
    // None of it is in what a model sees, nor in a log.
    let tools = format!("{:?}", toolbox.tools());
    assert!(!tools.contains("Table") && !tools.contains("table\""), "{tools}");
    assert_eq!(format!("{table:?}"), "Table(2 rows, 3 columns)");
}

#[tokio::test]
async fn another_run_cannot_use_the_handle() {
    let bench = Bench::new();
    bench.put("people.csv", PEOPLE);
    let root = Root::open(bench.root()).unwrap();
    let store = Arc::new(MemoryHandles::default());
    let toolbox = Toolbox::new(data::by_handle(&root)).unwrap().with_handles(store.clone());
    let call = async |run: &str, tool: &str, arguments: &str| {
        let call = Call::new("1", tool, Arguments::from_text(arguments));
        let done =
            toolbox.call_with(&Session::new(run.to_owned()), &call, Completeness::Complete).await;
        words(&done.result().unwrap().outcome.content)
    };
    let read = call("mine", "read_csv", r#"{"path":"people.csv"}"#).await;
    let arguments = format!(r#"{{"table":"{}"}}"#, handle_in(&read));
    let theirs = call("theirs", "drop_missing", &arguments).await;
    assert!(theirs.contains("there is no data under"), "{theirs}");
    let mine = Session::new("mine").owner();
    let handle: toolwright_runtime::handle::Handle = handle_in(&read).parse().unwrap();
    assert!(store.find(&mine, handle.id).await.is_ok());
}
