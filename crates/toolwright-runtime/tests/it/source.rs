//! Tools of sources, which come and go.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use toolwright_core::{Arguments, Tool};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::toolbox::{
    SourceError, SourceFuture, SourceProblem, SourceReport, ToolPage, ToolSource,
};
use toolwright_runtime::{Agent, Handler, Output, ScriptedModel, Session, Toolbox};
use toolwright_testing::tools::{any, call, done, echo, kind, make, text, tool, toolbox};

/// What a source does when it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Fine,
    Fails,
    Hangs,
    Panics,
    Loops,
}

/// A source whose tools can be changed.
struct Changing {
    name: &'static str,
    /// Name, version and definition of each tool; one that starts with `hidden` is not listed
    tools: Mutex<Vec<(String, Arc<Tool>)>>,
    mood: Mutex<Mood>,
    changed: Notify,
    resolved: AtomicUsize,
}

impl Changing {
    fn new(name: &'static str, tools: &[&str]) -> Arc<Changing> {
        let source = Changing {
            name,
            tools: Mutex::default(),
            mood: Mutex::new(Mood::Fine),
            changed: Notify::new(),
            resolved: AtomicUsize::new(0),
        };
        source.set(tools.iter().map(|name| any(name)));
        Arc::new(source)
    }

    fn set(&self, tools: impl IntoIterator<Item = Tool>) {
        let versioned = |tool: Tool| ("1".to_owned(), Arc::new(tool));
        *self.tools.lock().unwrap() = tools.into_iter().map(versioned).collect();
        self.changed.notify_one();
    }

    fn set_version(&self, version: &str) {
        for tool in self.tools.lock().unwrap().iter_mut() {
            *tool = (version.to_owned(), Arc::new((*tool.1).clone()));
        }
    }

    fn set_mood(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    async fn behave(&self) -> Result<(), SourceError> {
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Fine | Mood::Loops => Ok(()),
            Mood::Fails => Err(SourceError("the server is down".to_owned())),
            Mood::Hangs => std::future::pending().await,
            Mood::Panics => panic!("a bug of the source"),
        }
    }

    fn find(&self, name: &str) -> Option<(String, Arc<Tool>)> {
        self.tools.lock().unwrap().iter().find(|(_, tool)| tool.name == name).cloned()
    }
}

impl ToolSource for Changing {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Two tools on each page.
    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        Box::pin(async move {
            self.behave().await?;
            let start: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let tools = self.tools.lock().unwrap();
            let listed: Vec<_> =
                tools.iter().filter(|(_, tool)| !tool.name.starts_with("hidden")).collect();
            let page = listed.iter().skip(start).take(2).map(|(_, tool)| tool.clone());
            let page = ToolPage::new(page);
            let looping = *self.mood.lock().unwrap() == Mood::Loops;
            let end = if looping { 1 } else { start + 2 };
            let more = looping || end < listed.len();
            Ok(if more { page.with_next(end.to_string()) } else { page })
        })
    }

    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        Box::pin(async move {
            self.behave().await?;
            self.resolved.fetch_add(1, Ordering::SeqCst);
            let Some((version, tool)) = self.find(name) else { return Ok(None) };
            let answer = format!("{} {version}", self.name);
            let handler = Handler::new((*tool).clone(), move |_, _| {
                let answer = answer.clone();
                async move { Ok(Output::text(answer)) }
            });
            Ok(Some(handler.with_version(version)))
        })
    }

    fn changed(&self) -> SourceFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }
}

fn over(sources: &[&Arc<Changing>]) -> Toolbox {
    let sources = sources.iter().map(|source| (*source).clone() as Arc<dyn ToolSource>);
    toolbox([echo("fixed")]).with_sources(sources)
}

fn names(toolbox: &Toolbox) -> Vec<String> {
    toolbox.all_names().iter().map(ToString::to_string).collect()
}

fn report(toolbox: &Toolbox, source: &str) -> SourceReport {
    toolbox.source_reports().into_iter().find(|report| report.source == source).unwrap()
}

#[tokio::test]
async fn listed_tools_are_compiled_when_they_are_called() {
    let (mcp, catalog) = (Changing::new("mcp", &["a", "b", "c"]), Changing::new("catalog", &["d"]));
    let toolbox = over(&[&mcp, &catalog]);
    assert_eq!(names(&toolbox), ["fixed"]);
    toolbox.refresh().await;
    assert_eq!(names(&toolbox), ["fixed", "a", "b", "c", "d"]);
    assert_eq!(toolbox.tools().len(), 5);
    assert!(toolbox.source_reports().iter().all(|report| report.compiled == 0));

    for _ in 0..3 {
        assert_eq!(text(&make(&toolbox, "b", "{}").await), "mcp 1");
    }
    assert_eq!((report(&toolbox, "mcp").compiled, report(&toolbox, "catalog").compiled), (1, 0));
    assert_eq!(mcp.resolved.load(Ordering::SeqCst), 1);
    assert_eq!(kind(&make(&toolbox, "nothing", "{}").await), Some("unknown_tool"));
}

#[tokio::test]
async fn a_name_that_no_source_lists_is_resolved_when_it_is_called() {
    let (first, second) = (Changing::new("first", &[]), Changing::new("second", &["hidden_tool"]));
    let toolbox = over(&[&first, &second]);
    toolbox.refresh().await;
    assert_eq!(names(&toolbox), ["fixed"]);
    assert_eq!(text(&make(&toolbox, "hidden_tool", "{}").await), "second 1");
    let only = toolbox.only(["hidden_tool", "later"]);
    assert_eq!(text(&make(&only, "hidden_tool", "{}").await), "second 1");
    assert_eq!(kind(&make(&only, "fixed", "{}").await), Some("unknown_tool"));
    first.set([any("later")]);
    assert_eq!(text(&make(&only, "later", "{}").await), "first 1");
    assert_eq!(kind(&make(&toolbox.only(["fixed"]), "later", "{}").await), Some("unknown_tool"));
}

#[tokio::test]
async fn tools_come_go_and_change() {
    let source = Changing::new("mcp", &["stay", "go"]);
    let toolbox = over(&[&source]);
    let clone = toolbox.only(["stay", "go", "come"]);
    toolbox.refresh().await;
    let before = clone.resolve("stay").await.unwrap().digest();
    make(&clone, "go", "{}").await;

    source.set([tool("stay", r#"{"type":"object","required":["a"]}"#), any("come")]);
    toolbox.refresh().await;
    assert_eq!(names(&clone), ["stay", "come"]);
    assert_ne!(clone.resolve("stay").await.unwrap().digest(), before);
    assert_eq!(kind(&make(&clone, "stay", "{}").await), Some("invalid_arguments"));
    assert_eq!(kind(&make(&clone, "go", "{}").await), Some("unknown_tool"));
    assert_eq!(text(&make(&clone, "come", "{}").await), "mcp 1");

    // An equal definition with another function is resolved again, and compiled if its version differs.
    let compiled = report(&toolbox, "mcp").compiled;
    source.set_version("1");
    toolbox.refresh().await;
    assert_eq!(text(&make(&clone, "come", "{}").await), "mcp 1");
    assert_eq!(report(&toolbox, "mcp").compiled, compiled);
    source.set_version("2");
    toolbox.refresh().await;
    let next = done(clone.call(&Session::new("next"), &call("c", "come", "{}")).await);
    assert_eq!(text(&next), "mcp 2");
}

#[tokio::test(start_paused = true)]
async fn changes_are_followed() {
    let sources =
        [Changing::new("a", &["a1"]), Changing::new("b", &[]), Changing::new("c", &["c1"])];
    let toolbox = over(&sources.each_ref());
    toolbox.refresh().await;
    let following = toolbox.clone();
    let task = tokio::spawn(async move { following.follow_sources().await });
    for round in 0..20 {
        let source = &sources[round % 3];
        let wanted = format!("{}_{round}", source.name);
        source.set([any(&wanted)]);
        while !toolbox.contains(&wanted) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(kind(&make(&toolbox, &wanted, "{}").await), None);
    }
    task.abort();
}

/// A source that always reports a change, and crashes before it returns a future.
#[derive(Default)]
struct Restless(AtomicUsize);

impl ToolSource for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolPage::new([any("listed")])) })
    }

    fn resolve<'a>(&'a self, _: &'a str) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        panic!("a bug of the source")
    }

    fn changed(&self) -> SourceFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_always_changes_is_listed_once_a_second() {
    let source = Arc::new(Restless::default());
    let toolbox = Toolbox::default().with_sources([source.clone() as Arc<dyn ToolSource>]);
    let following = tokio::time::timeout(Duration::from_secs(10), toolbox.follow_sources());
    following.await.unwrap_err();
    let listings = source.0.load(Ordering::SeqCst);
    assert!((9..=11).contains(&listings), "{listings}");
}

#[tokio::test]
async fn a_source_that_crashes_before_its_future_costs_one_call() {
    let sources = [Arc::new(Restless::default()) as Arc<dyn ToolSource>];
    let toolbox = Toolbox::default().with_sources(sources);
    toolbox.refresh().await;
    assert_eq!(kind(&make(&toolbox, "listed", "{}").await), Some("unavailable"));
    // The report does not keep all of a name that a model invented.
    let invented = "x".repeat(10_000);
    let unavailable = make(&toolbox, &invented, "{}").await;
    assert!(text(&unavailable).len() < 500, "{}", text(&unavailable));
    for problem in report(&toolbox, "restless").problems {
        assert!(problem.to_string().len() < 500, "{problem}");
    }
}

#[tokio::test]
async fn a_call_in_flight_keeps_its_tool() {
    struct Slow(Arc<Notify>, AtomicBool);
    impl ToolSource for Slow {
        fn name(&self) -> &'static str {
            "slow"
        }
        fn list<'a>(
            &'a self,
            _: Option<&'a str>,
        ) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
            let tools = if self.1.load(Ordering::SeqCst) { vec![] } else { vec![any("wait")] };
            Box::pin(async move { Ok(ToolPage::new(tools)) })
        }
        fn resolve<'a>(
            &'a self,
            _: &'a str,
        ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
            let (gone, started) = (self.1.load(Ordering::SeqCst), self.0.clone());
            let handler = Handler::new(any("wait"), move |_, _| {
                let started = started.clone();
                async move {
                    started.notify_one();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Ok(Output::text("finished"))
                }
            });
            Box::pin(async move { Ok((!gone).then_some(handler)) })
        }
    }
    let started = Arc::new(Notify::new());
    let source = Arc::new(Slow(started.clone(), AtomicBool::new(false)));
    let toolbox = Toolbox::default().with_sources([source.clone() as Arc<dyn ToolSource>]);
    toolbox.refresh().await;
    let calling = toolbox.clone();
    let call = tokio::spawn(async move { make(&calling, "wait", "{}").await });
    started.notified().await;
    source.1.store(true, Ordering::SeqCst);
    toolbox.refresh().await;
    assert_eq!(kind(&make(&toolbox, "wait", r#"{"a":1}"#).await), Some("unknown_tool"));
    assert_eq!(text(&call.await.unwrap()), "finished");
}

#[tokio::test]
async fn a_bad_tool_costs_only_itself() {
    let hosted = Tool {
        kind: toolwright_core::ToolKind::Hosted(any("x").name.as_str().into()),
        ..any("search")
    };
    let first = Changing::new("first", &[]);
    first.set([
        any("twice"),
        tool("twice", r#"{"type":"object","required":["a"]}"#),
        any(""),
        hosted,
        tool("bad", r#"{"type": 7}"#),
        any("fixed"),
        any("good"),
    ]);
    let second = Changing::new("second", &["good", "other"]);
    let toolbox = over(&[&first, &second]);
    toolbox.refresh().await;
    assert_eq!(names(&toolbox), ["fixed", "twice", "bad", "good", "other"]);
    assert_eq!(text(&make(&toolbox, "good", "{}").await), "first 1");
    assert_eq!(text(&make(&toolbox, "other", "{}").await), "second 1");
    assert_eq!(text(&make(&toolbox, "fixed", "{}").await), "{}");
    for _ in 0..2 {
        let bad = make(&toolbox, "bad", "{}").await;
        assert_eq!(kind(&bad), Some("unavailable"));
        assert!(!text(&bad).contains("type"), "{}", text(&bad));
    }
    let first = report(&toolbox, "first");
    let problems: Vec<String> = first.problems.iter().map(ToString::to_string).collect();
    for wanted in [
        "lists twice more than once",
        "lists a tool without a name",
        "lists search, which its vendor runs",
        "lists fixed, which the toolbox provides",
    ] {
        assert!(problems.iter().any(|problem| problem == wanted), "{problems:?}");
    }
    assert!(first.problems.iter().any(|one| matches!(one, SourceProblem::Schema { .. })));
    assert_eq!(first.problems.len(), 5, "{problems:?}");
    let second = report(&toolbox, "second");
    let by = SourceProblem::Shadowed { tool: "good".into(), by: "first".to_owned() };
    assert_eq!((second.tools, second.problems), (1, vec![by]));
}

#[tokio::test(start_paused = true)]
async fn a_source_in_trouble_costs_only_its_own_tools() {
    for mood in [Mood::Fails, Mood::Hangs, Mood::Panics, Mood::Loops] {
        let (bad, good) = (Changing::new("bad", &["b"]), Changing::new("good", &["g"]));
        bad.set_mood(mood);
        let toolbox = over(&[&bad, &good]);
        toolbox.refresh().await;
        assert_eq!(names(&toolbox), ["fixed", "g"]);
        assert_eq!(kind(&make(&toolbox, "g", "{}").await), None);
        assert!(matches!(report(&toolbox, "bad").problems[..], [SourceProblem::Listing(_)]));
        assert_eq!(report(&toolbox, "good").problems, []);

        bad.set_mood(Mood::Fine);
        toolbox.refresh().await;
        assert_eq!(names(&toolbox), ["fixed", "b", "g"]);
        assert_eq!(report(&toolbox, "bad").problems, []);

        // The tools of the last listing stay, and a call says that they cannot be used.
        bad.set_mood(mood);
        toolbox.refresh().await;
        assert_eq!(names(&toolbox), ["fixed", "b", "g"]);
        if mood != Mood::Loops {
            let unavailable = make(&toolbox, "b", "{}").await;
            assert_eq!(kind(&unavailable), Some("unavailable"));
            assert!(unavailable.error.unwrap().retryable);
            let problems = report(&toolbox, "bad").problems;
            assert!(problems.iter().any(|one| matches!(one, SourceProblem::Resolving { .. })));
        }
        assert_eq!(kind(&make(&toolbox, "g", r#"{"again":1}"#).await), None);
    }
}

#[tokio::test]
async fn policies_apply_to_listed_tools() {
    let source = Changing::new("mcp", &["read_a", "write_a"]);
    let rule = Rule::new(Verdict::Deny).with_tools(["write_*"]);
    let toolbox = over(&[&source]).with_policy(Policy::default().with_rule(rule));
    toolbox.refresh().await;
    let session = Session::new("run");
    let shown = toolbox.tools_for(&session.caller);
    let shown: Vec<&str> = shown.iter().map(|tool| &*tool.name).collect();
    assert_eq!(shown, ["fixed", "read_a"]);
    assert_eq!(kind(&make(&toolbox, "write_a", "{}").await), Some("not_allowed"));
    let unknown = make(&toolbox, "write_b", "{}").await;
    assert!(!text(&unknown).contains("write_a"), "{}", text(&unknown));
    let suggested = make(&toolbox, "reada", "{}").await;
    assert!(text(&suggested).contains("Did you mean `read_a`?"), "{}", text(&suggested));
}

#[tokio::test]
async fn names_are_suggested_among_many() {
    let source = Changing::new("catalog", &[]);
    source.set((0..5000).map(|number| any(&format!("tool_{number}"))).chain([any("forecast")]));
    let toolbox = over(&[&source]);
    toolbox.refresh().await;
    let suggested = make(&toolbox, "forcast", "{}").await;
    assert!(text(&suggested).contains("Did you mean `forecast`?"), "{}", text(&suggested));
    let unknown = make(&toolbox, "xyzzy_plugh", "{}").await;
    assert!(text(&unknown).contains(", and others."), "{}", text(&unknown));
    assert!(text(&unknown).len() < 1000);
    let error = toolbox.check_arguments("forcast", &Arguments::none()).await.unwrap_err();
    assert!(error.text.contains("`forecast`"), "{error}");
    assert_eq!(report(&toolbox, "catalog").compiled, 0);
}

#[tokio::test]
async fn an_agent_uses_the_tools_of_sources() {
    let source = Changing::new("mcp", &["look"]);
    let toolbox = over(&[&source]);
    toolbox.refresh().await;
    let script = ScriptedModel::new().then_call("c1", "look", "{}").then_text("done");
    let agent = Agent::new("clerk").with_tools(toolbox).with_model(script.model());
    let finished = agent.run("look").finish().await.unwrap();
    let outcomes = finished.messages.iter().flat_map(|message| &message.parts);
    assert!(
        outcomes
            .filter_map(|part| part.as_outcome())
            .any(|outcome| { outcome.content[0].as_text() == Some("mcp 1") })
    );
}
