//! Pictures of plans: the files beside the plans of `fixtures/plans`, and where boxes and lines are.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toolwright_core::{Json, Tool};
use toolwright_plan::{
    Graph, Plan, PlanTool, PlanTools, Resource, ResourceUse, StepState, StepStatus, draw,
};

use toolwright_testing::golden;

fn plan(text: &str) -> Plan {
    Plan::parse(&Json::parse(text).unwrap()).unwrap()
}

fn done(started_ms: u64, ended_ms: u64) -> StepStatus {
    let times = (Some(started_ms), Some(ended_ms));
    let status = StepStatus::new(StepState::Succeeded);
    StepStatus { started_ms: times.0, ended_ms: times.1, attempts: 1, ..status }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/plans")
}

fn fixture(name: &str) -> Plan {
    plan(&std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap())
}

fn assert_golden(name: &str, picture: &str) {
    golden::compare(&folder().join(name), picture.as_bytes());
}

fn report_run() -> Vec<StepStatus> {
    let each = StepStatus { items: Some((40, 40)), attempts: 43, ..done(420, 2_960) };
    let retried = StepStatus { attempts: 2, ..done(430, 1_810) };
    vec![
        done(0, 412),
        each,
        retried,
        done(2_970, 4_100),
        StepStatus::new(StepState::Skipped),
        done(4_105, 4_390),
    ]
}

/// Tools that share a table: as a slot and as a context value.
fn tables() -> PlanTools {
    let tool = |name: &str, resource: Resource, writes: bool| PlanTool {
        uses: vec![ResourceUse { resource, writes }],
        ..PlanTool::new(Tool::function(name, Json::default()), Vec::new())
    };
    let slot = || Resource::Slot("table".to_owned());
    let data = || Resource::Context("Data".to_owned());
    PlanTools::new([
        tool("fill", slot(), true),
        tool("read", slot(), false),
        tool("change", data(), true),
    ])
}

fn tables_run() -> Vec<StepStatus> {
    [
        StepState::Succeeded,
        StepState::Failed,
        StepState::Blocked,
        StepState::Running,
        StepState::Waiting,
        StepState::Cancelled,
    ]
    .map(StepStatus::new)
    .into()
}

#[test]
fn a_plan_is_drawn_as_svg() {
    let none = PlanTools::default();
    let structures = fixture("structures");
    let graph = Graph::new(&structures, &none);
    assert_golden("structures.svg", &draw::svg(&structures, &graph, &[]));
    let report = fixture("report");
    let graph = Graph::new(&report, &none);
    assert_golden("report.svg", &draw::svg(&report, &graph, &report_run()));
    assert_golden("report.timeline.svg", &draw::timeline(&report, &report_run()));
    let shared = fixture("tables");
    let graph = Graph::new(&shared, &tables());
    assert_golden("tables.svg", &draw::svg(&shared, &graph, &tables_run()));
}

#[test]
fn a_plan_is_drawn_as_mermaid() {
    let report = fixture("report");
    let graph = Graph::new(&report, &PlanTools::default());
    assert_golden("report.mmd", &draw::mermaid(&report, &graph, &report_run()));
    let shared = fixture("tables");
    let graph = Graph::new(&shared, &tables());
    assert_golden("tables.mmd", &draw::mermaid(&shared, &graph, &tables_run()));
}

/// Returns the numbers of an attribute in each element with a class: x, y, width, height.
fn rects(svg: &str, class: &str) -> Vec<[i64; 4]> {
    let number = |element: &str, name: &str| -> i64 {
        let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    svg.split("<rect ")
        .filter_map(|part| part.strip_prefix(&format!("class=\"{class}\"")))
        .map(|element| ["x", "y", "width", "height"].map(|name| number(element, name)))
        .collect()
}

/// Returns the width and the height of the picture, and the offset of the graph in it.
fn frame(svg: &str) -> ([i64; 2], [i64; 2]) {
    let pair = |start: &str, end: char| {
        let (_, rest) = svg.split_once(start).unwrap();
        let numbers = rest.split_once(end).unwrap().0.split_once(' ').unwrap();
        [numbers.0.parse().unwrap(), numbers.1.parse().unwrap()]
    };
    (pair("viewBox=\"0 0 ", '"'), pair("<g transform=\"translate(", ')'))
}

/// A plan of some steps, each of which may take data from earlier ones and follow others.
fn any_plan(max: usize) -> impl Strategy<Value = String> {
    let step = (
        "[a-z城市\u{1f600}]{1,12}",
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        prop::collection::vec(any::<prop::sample::Index>(), 0..2),
        any::<(bool, bool)>(),
    );
    prop::collection::vec(step, 1..max).prop_map(|steps| {
        let mut text = String::from(r#"{"plan":"1","inputs":{},"steps":{"#);
        for (at, (tool, data, after, (each, input))) in steps.iter().enumerate() {
            let earlier = |index: &prop::sample::Index| format!("s{}", index.index(at));
            let mut args: Vec<String> = Vec::new();
            if at > 0 {
                let value = |(name, from): (usize, &prop::sample::Index)| {
                    format!(r#""p{name}":{{"$from":"{}/x"}}"#, earlier(from))
                };
                args.extend(data.iter().enumerate().map(value));
            }
            if *input {
                args.push(format!(r#""i":{{"$from":"inputs/i{}"}}"#, at % 3));
            }
            let after: Vec<String> = match at {
                0 => Vec::new(),
                _ => after.iter().map(|from| format!("\"{}\"", earlier(from))).collect(),
            };
            let each = if *each { r#","each":[1,2]"# } else { "" };
            let comma = if at > 0 { "," } else { "" };
            write!(
                text,
                r#"{comma}"s{at}":{{"tool":"{tool}","args":{{{}}},"after":[{}]{each}}}"#,
                args.join(","),
                after.join(",")
            )
            .unwrap();
        }
        let last = steps.len() - 1;
        text + &format!(r#"}},"outputs":{{"o":{{"$from":"s{last}"}},"first":{{"$from":"s0"}}}}}}"#)
    })
}

/// Returns the points of the paths of all edges, as pairs of numbers.
fn edges(svg: &str) -> Vec<Vec<(char, [i64; 2])>> {
    let path = |element: &str| {
        let (_, rest) = element.split_once(" d=\"").unwrap();
        let mut points = Vec::new();
        let data = rest.split_once('"').unwrap().0;
        for command in
            data.split_inclusive(char::is_numeric).collect::<String>().split(['M', 'L', 'C'])
        {
            let numbers: Vec<i64> =
                command.split_whitespace().map(|number| number.parse().unwrap()).collect();
            let kind = if numbers.len() > 2 { 'C' } else { 'L' };
            points.extend(numbers.chunks(2).map(|pair| (kind, [pair[0], pair[1]])));
        }
        points
    };
    svg.split("<path class=\"edge ").skip(1).map(path).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn boxes_are_inside_of_the_picture_and_do_not_overlap(text in any_plan(60)) {
        let plan = plan(&text);
        let graph = Graph::new(&plan, &PlanTools::default());
        let svg = draw::svg(&plan, &graph, &[]);
        prop_assert_eq!(&svg, &draw::svg(&plan, &graph, &[]));
        let ([width, height], [left, top]) = frame(&svg);
        let steps = rects(&svg, "step");
        prop_assert_eq!(steps.len(), plan.steps.len());
        let boxes: Vec<[i64; 4]> =
            steps.into_iter().chain(rects(&svg, "input")).chain(rects(&svg, "output")).collect();
        for (at, [x, y, wide, high]) in boxes.iter().enumerate() {
            prop_assert!(*x >= 0 && *y >= 0 && left + x + wide <= width && top + y + high <= height);
            for [other_x, other_y, other_wide, other_high] in &boxes[..at] {
                let is_apart = x + wide <= *other_x
                    || other_x + other_wide <= *x
                    || y + high <= *other_y
                    || other_y + other_high <= *y;
                prop_assert!(is_apart, "{svg}");
            }
        }
        // Every point of a line between its ends is outside of all boxes.
        for edge in edges(&svg) {
            for (_, [point_x, point_y]) in &edge[1..edge.len() - 1] {
                for [x, y, wide, high] in &boxes {
                    let is_inside =
                        x < point_x && *point_x < x + wide && y < point_y && *point_y < y + high;
                    prop_assert!(!is_inside, "{svg}");
                }
            }
        }
    }
}
