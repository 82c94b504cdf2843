//! Random plans on a real Temporal server end like the sequential reference. `TEMPORAL` is the path of the program.

use std::collections::HashMap;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Builder;
use toolwright_core::Tool;
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_plan::journal::Question;
use toolwright_plan::temporal::{Address, TemporalEngine, TemporalWorker};
use toolwright_plan::{Engine, NewRun, Plan, PlanRunError, RunReport, RunStatus, StepAnswer};
use toolwright_runtime::handle::{HandleStore, MemoryHandles};
use toolwright_runtime::{Effect, Handler, Output, Toolbox};

use super::generate::{self, Random};
use super::random::compare;
use super::reference;
use super::tools::{Log, toolbox};

/// Number of plans, and of those that run at once.
const PLANS: u64 = 50;
const AT_ONCE: usize = 5;

/// A Temporal server, which ends with the test.
struct Server {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let program =
            std::env::var("TEMPORAL").expect("TEMPORAL is the path of the program temporal");
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = workspace().join(program);
        let process = Command::new(&program)
            .args([
                "server",
                "start-dev",
                "--ip",
                "127.0.0.1",
                "--headless",
                "--log-level",
                "error",
            ])
            .args(["--port", &port.to_string(), "--db-filename"])
            .arg(folder.path().join("temporal.db"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = format!("127.0.0.1:{port}");
        let begin = Instant::now();
        // The port is open before the services behind it are ready, and what a client sends until then may be lost.
        let is_ready = || {
            let mut describe = Command::new(&program);
            describe.args(["task-queue", "describe", "--task-queue", "any", "--address", &address]);
            describe.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
        };
        while TcpStream::connect(&address).is_err() || !is_ready() {
            assert!(begin.elapsed() < Duration::from_mins(1), "the server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Server { process, address, _folder: folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn workspace() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Counts calls, by run and place.
#[derive(Default)]
struct Counts(std::sync::Mutex<HashMap<String, u64>>);

impl Log for Counts {
    /// Steps of different runs have the same places, but not the same keys.
    fn start(&self, _: &str, key: &str) -> u64 {
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry(key.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    fn effect(&self, _: &str, _: &str, _: &Result<Json, String>) {}
}

#[test]
fn random_plans_on_temporal_end_like_the_sequential_reference() {
    let server = Server::start();
    let address = Address::new(server.address.as_str());
    let counts: Arc<Counts> = Arc::default();
    let log: Arc<dyn Log> = counts.clone();
    let worker =
        TemporalWorker::new(address.clone(), "random", toolbox(&log, Duration::from_millis(8)));
    let engine = TemporalEngine::new(address, ["random"]);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let begin = Instant::now();
    let (cancelled, asked) = runtime.block_on(async {
        let (done, stopped) = tokio::sync::oneshot::channel::<()>();
        let until = async { drop(stopped.await) };
        let plans = async {
            let mut waiting = (0..PLANS).map(|seed| run(&engine, seed));
            let mut running: FuturesUnordered<_> = waiting.by_ref().take(AT_ONCE).collect();
            let (mut cancelled, mut asked) = (0, 0);
            while let Some((is_cancelled, questions)) = running.next().await {
                cancelled += usize::from(is_cancelled);
                asked += questions;
                running.extend(waiting.next());
            }
            drop(done);
            (cancelled, asked)
        };
        let (counted, ended) = tokio::join!(plans, worker.run(|| (), until));
        ended.unwrap();
        counted
    });
    println!("{PLANS} plans in {:?}, {cancelled} cancelled, {asked} approvals", begin.elapsed());
    assert!(cancelled > 0 && asked > 0, "{cancelled} cancelled, {asked} approvals");
    let most = counts.0.lock().unwrap().values().max().copied();
    assert!(most <= Some(3), "a call started {most:?} times, and plans have at most two retries");
}

#[test]
fn a_run_is_reported_without_what_its_stored_values_lack() {
    let server = Server::start();
    let address = Address::new(server.address.as_str());
    let store: Arc<dyn HandleStore> = Arc::new(MemoryHandles::default());
    let grow = Handler::new(Tool::function("grow", super::open_schema()), |_, _: Object| async {
        Ok(Output::json(object! {"n": 1, "text": "x".repeat(200_000)}))
    });
    let toolbox = Toolbox::new([grow.with_effect(Effect::None)]).unwrap();
    let worker =
        TemporalWorker::new(address.clone(), "grow", toolbox).with_handles(Arc::clone(&store));
    let engine = TemporalEngine::new(address.clone(), ["grow"]).with_handles(store);
    // Its store has none of the values, as if they had expired.
    let late = TemporalEngine::new(address, ["grow"]).with_handles(Arc::<MemoryHandles>::default());
    let plan = super::plan(
        r#"{"plan": "1", "steps": {
            "a": {"tool": "grow"},
            "b": {"tool": "grow", "args": {"x": {"$from": "a/none"}}, "on_error": "continue"}},
            "outputs": {"n": {"$from": "a/n"}, "none": {"$from": "a/none"}}}"#,
    );
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (done, stopped) = tokio::sync::oneshot::channel::<()>();
        let runs = async {
            let run = engine.start(NewRun::new(plan, Json::Object(Object::new()))).await.unwrap();
            let report = engine.drive(&run, None).await.unwrap();
            assert_eq!(Json::Object(report.outputs), super::json(r#"{"n": 1, "none": null}"#));
            assert_eq!((report.run.status, report.error), (RunStatus::Succeeded, None));
            let [a, b] = &report.steps[..] else { panic!("two steps") };
            assert_eq!(a.output.as_ref().and_then(|output| output.get("n")), Some(&1.into()));
            assert_eq!((b.error_kind.as_deref(), &b.input), (Some("missing_value"), &None));

            let report = late.report(&run).await.unwrap();
            assert_eq!((report.run.status, &report.steps[0].output), (RunStatus::Succeeded, &None));
            assert_eq!(report.error.unwrap().kind, "not_readable");
            let error = late.drive(&run, None).await.unwrap_err().to_string();
            assert!(error.contains("the output 'n' cannot be read"), "{error}");
            drop(done);
        };
        let until = async { drop(stopped.await) };
        let ((), ended) = tokio::join!(runs, worker.run(|| (), until));
        ended.unwrap();
    });
}

/// Runs a plan and compares its result with that of the reference. Every fifth plan is cancelled, if it does not end
/// earlier. Returns whether it was, and the number of approvals.
async fn run(engine: &TemporalEngine, seed: u64) -> (bool, usize) {
    let document = generate::plan(&mut Random::new(seed), true);
    let plan = Plan::parse(&document).unwrap();
    let run = engine.start(NewRun::new(plan, generate::inputs())).await.unwrap();
    if seed % 5 == 4 {
        match engine.cancel(&run).await {
            Ok(()) | Err(PlanRunError::Ended(_)) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    let (report, asked) = drive(engine, &run, seed).await;
    let is_cancelled = report.status() == RunStatus::Cancelled;
    if !is_cancelled {
        let expected = reference::run(&document, &generate::inputs());
        compare(&document, &expected, &report, &[]);
    }
    let shown = engine.report(&run).await.unwrap();
    assert_eq!((shown.status(), &shown.outputs), (report.status(), &report.outputs), "seed {seed}");
    (is_cancelled, asked)
}

/// Drives a run to its end, and approves its calls.
async fn drive(engine: &TemporalEngine, run: &str, seed: u64) -> (RunReport, usize) {
    let mut asked = 0;
    loop {
        let report = engine.drive(run, None).await.unwrap();
        if report.status() != RunStatus::Waiting {
            return (report, asked);
        }
        for question in &report.questions {
            assert!(
                matches!(question.question, Question::Approval(_)),
                "seed {seed}: {question:?}"
            );
            asked += 1;
            let (step, item) = (question.step.as_str(), question.item);
            match engine.answer(run, step, item, StepAnswer::Approve).await {
                // It was cancelled in the meantime.
                Ok(_) | Err(PlanRunError::Ended(_)) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }
}
