//! What a journal in a file has recorded can be read again, and one damaged run does not hide the others.

use std::path::Path;
use std::sync::Arc;

use toolwright_core::{Json, Tool, object};
use toolwright_plan::journal::{PlanJournal, PlanJournalError, RunFilter, SqlitePlanJournal};
use toolwright_plan::{
    Engine, LocalEngine, NewRun, PlanRunError, RunReport, RunStatus, StepState, Template,
};
use toolwright_runtime::{Caller, Effect, Handler, Output, Toolbox};

use super::{Log, echo, open_schema, plan, run};

const ECHO: &str = r#"{"plan":"1","steps":{"a":{"tool":"echo","args":{"n":1}}}}"#;

fn arrays(depth: usize) -> Json {
    (1..depth).fold(Json::Array(Vec::new()), |inner, _| Json::Array(vec![inner]))
}

/// A toolbox with `echo`, and with `deep`, whose output is nested as deep as its argument says.
fn engine(path: &Path) -> LocalEngine {
    let deep = Handler::new(Tool::function("deep", open_schema()), |_, arguments| async move {
        let depth = arguments.get("depth").and_then(Json::as_u64).unwrap_or_default();
        Ok(Output::json(arrays(usize::try_from(depth).unwrap())))
    })
    .with_effect(Effect::None);
    let toolbox = Toolbox::new([echo("echo", &Log::default()), deep]).unwrap();
    LocalEngine::new(toolbox).with_journal(Arc::new(SqlitePlanJournal::open(path).unwrap()))
}

#[tokio::test]
async fn a_fork_with_any_arguments_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder.path().join("plans.sqlite"));
    let first = run(&engine, ECHO, "{}").await.run.id;
    let fork = async |arguments: Vec<(&str, Json)>| {
        let arguments = arguments.into_iter();
        let arguments = arguments.map(|(name, value)| (name.to_owned(), Template::Literal(value)));
        engine.fork(&first, "a", Some(arguments.collect()), Caller::default()).await
    };
    let Err(PlanRunError::Invalid(errors)) = fork(vec![("n", 1.into()), ("n", 1.into())]).await
    else {
        panic!("repeated arguments are accepted");
    };
    assert_eq!(errors[0].to_string(), "/steps/a/args/n: this key is repeated");
    let deep = fork(vec![("n", arrays(126))]).await.unwrap();
    assert_eq!(engine.drive(&deep, None).await.unwrap().status(), RunStatus::Succeeded);
    let (record, entries) = engine.journal().load(&deep).await.unwrap();
    assert_eq!(record.plan.steps[0].arg("n"), Some(&Template::Literal(arrays(126))));
    assert_eq!(entries.len(), 1);
    assert_eq!(engine.journal().list(&RunFilter::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn deep_outputs_can_be_read_again_and_deeper_ones_fail_their_step() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder.path().join("plans.sqlite"));
    let deep = async |depth: usize| -> RunReport {
        let text = format!(
            r#"{{"plan":"1","steps":{{"a":{{"tool":"deep","args":{{"depth":{depth}}}}}}},"outputs":{{"a":{{"$from":"a"}}}}}}"#
        );
        let id = run(&engine, &text, "{}").await.run.id;
        engine.report(&id).await.unwrap()
    };
    assert_eq!(deep(128).await.outputs, object! {"a": arrays(128)});
    let report = deep(129).await;
    assert_eq!(report.steps[0].status.state, StepState::Failed);
    let reason = report.steps[0].reason.as_deref().unwrap();
    assert!(reason.contains("nested more than 128 levels deep"), "{reason}");
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_upgraded_for_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plans.sqlite");
    let list = async || {
        let journal = SqlitePlanJournal::open(&path).unwrap();
        journal.list(&RunFilter::default()).await.unwrap()
    };
    let with_name =
        ECHO.replace(r#""steps""#, &format!(r#""name":"{}","steps""#, "名".repeat(300)));
    for text in [ECHO, &with_name] {
        let engine = engine(&path).with_resumed_runs();
        let run = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
        engine.fork(&run, "a", None, Caller::new("x")).await.unwrap();
    }
    let runs = list().await;
    assert!(runs.iter().all(|run| run.steps == 1 && run.resumes), "{runs:?}");
    let names = runs.iter().filter_map(|run| run.name.as_ref());
    assert_eq!(names.map(|name| name.chars().count()).collect::<Vec<_>>(), [200; 2]);
    assert_eq!(runs.iter().filter(|run| run.parent.is_some()).count(), 2);
    let file = rusqlite::Connection::open(&path).unwrap();
    for column in ["caller", "name", "steps", "parent", "resumes"] {
        file.execute(&format!("ALTER TABLE run DROP COLUMN {column}"), []).unwrap();
    }
    file.pragma_update(None, "user_version", 2).unwrap();
    drop(file);
    assert_eq!(list().await, runs);
}

#[tokio::test]
async fn a_damaged_run_is_listed_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plans.sqlite");
    let engine = engine(&path);
    let mut runs = Vec::new();
    for tenant in ["one", "two", "one", "one"] {
        let caller = Caller::new("x").with_tenant(tenant);
        let new = NewRun::new(plan(ECHO), object! {}).with_caller(caller);
        runs.push(engine.start(new).await.unwrap());
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    for (at, run) in (1..).zip(&runs) {
        file.execute("UPDATE run SET created = ?2 WHERE id = ?1", (&**run, at)).unwrap();
    }
    let damage = "UPDATE run SET record = '{' WHERE id = ?1";
    assert_eq!(file.execute(damage, [&*runs[2]]).unwrap(), 1);
    let journal = engine.journal();
    let page = RunFilter { tenant: Some("one".into()), limit: Some(2), ..RunFilter::default() };
    let found = journal.list(&page).await.unwrap();
    assert_eq!(found.iter().map(|run| &run.id).collect::<Vec<_>>(), [&runs[3], &runs[2]]);
    assert!(journal.load(&runs[2]).await.is_err());
    assert_eq!(&*journal.summary(&runs[2]).await.unwrap().caller.tenant, "one");
    journal.delete(&runs[2]).await.unwrap();
    let gone = PlanJournalError::UnknownRun(runs[2].to_string());
    assert_eq!(journal.summary(&runs[2]).await.unwrap_err(), gone);
}
