//! The clients of a chaos run that run plans: a step calls a published plan, whose steps change something, wait for
//! approval, and write a file. The client starts the run, answers its questions and waits for its end.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde_json::{Value, json};

use super::client::Client;
use super::record::Effect;
use crate::failure::{Failure, Outcome};
use crate::load::next_nonce;
use crate::mock::EFFECTS;
use crate::nonce::Nonce;
use crate::process::Site;

/// The name of these clients in tables.
const NAME: &str = "plans";
/// The steps of the published plan, of which each has an effect.
const STEPS: [&str; 3] = ["commit", "stage", "stamp"];
/// How long a run may take after the end of the chaos.
const GRACE: Duration = Duration::from_secs(45);
/// How long a run may be interrupted before the client continues it.
const INTERRUPTED: Duration = Duration::from_secs(3);
/// Longest time of one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Exit code of the function's process if it cannot write its file.
const NO_SPACE: u8 = 28;

/// Additional lines of the configuration: the process may write the effects.
pub(crate) const SETTINGS: &str = "[prefabs.stamp-prefab]\nwrite = [\"work\"]\n";

/// Publishes the plan and the function with a file, whose process writes its effect outside of the filled disk.
pub(crate) fn publish(site: &Site) -> Outcome {
    let text = json!({"type": "string"});
    let parameter = |name: &str| json!({"name": name, "type": "string", "required": true, "description": "A line"});
    let stamp = json!({
        "id": "stamp-prefab", "version": "1.0.0", "name": "Stamps", "description": "Writes lines.",
        "runtime": {"process": {"command": ["sh", "run.sh"]}},
        "functions": [{
            "name": "stamp", "description": "Writes a line.", "effect": "once", "parameters": [parameter("line")],
            "returns": {"type": "object", "properties": {"line": text}},
            "files": {"output": {"type": "array", "items": {"type": "OutputFile"}, "description": "The line"}}
        }]
    });
    let steps = json!({
        "commit": {"tool": "git_commit", "args": {"message": {"$from": "inputs/commit"}}},
        "stage": {"tool": "git_add", "after": ["commit"], "args": {"paths": [{"$from": "inputs/stage"}]}},
        "stamp": {"tool": "stamp-prefab/stamp", "after": ["stage"], "args": {"line": {"$from": "inputs/stamp"}}}
    });
    let plan = json!({
        "plan": "1", "steps": steps, "outputs": {"stamp": {"$from": "stamp"}},
        "inputs": {"type": "object", "required": STEPS, "properties": {"commit": text, "stage": text, "stamp": text}}
    });
    let order = json!({
        "id": "order-prefab", "version": "1.0.0", "name": "Orders", "description": "Does all of it.",
        "runtime": {"plan": {}}, "functions": [{"name": "order", "description": "Does all of it.", "plan": plan}]
    });
    let script = format!(
        "read -r call\n\
         line=$(echo \"$call\" | sed 's/.*\"line\":\"\\([^\"]*\\)\".*/\\1/')\n\
         folder=$(echo \"$call\" | sed 's/.*\"output_dir\":\"\\([^\"]*\\)\".*/\\1/')\n\
         echo \"$line\" > \"$folder/output/line.txt\" || exit {NO_SPACE}\nsleep 0.1\necho \"$line\" >> '{}'\necho '{{\"line\":\"'\"$line\"'\"}}'\n",
        site.folder().join("work").join(EFFECTS).display()
    );
    let folder = site.folder().join("prefabs");
    for (name, manifest) in [("stamp", &stamp), ("order", &order)] {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("prefab.json"), manifest.to_string())?;
        if name == "stamp" {
            fs::write(folder.join("run.sh"), &script)?;
        }
        add(site, &folder)?;
    }
    Ok(())
}

fn add(site: &Site, folder: &Path) -> Outcome {
    let mut command = site.toolwright();
    let output =
        command.args(["catalog", "add"]).arg(folder).arg("--data").arg(site.data()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure(format!("catalog add: {}", String::from_utf8_lossy(&output.stderr))))
}

/// A run as its client knows it.
struct Run {
    path: String,
    /// The effects of the steps
    effects: [(Nonce, Effect); STEPS.len()],
    /// Since when it is interrupted
    interrupted: Option<Instant>,
}

impl Client {
    /// Runs plans until the time is over.
    pub(crate) async fn run_plans(mut self, until: Instant) {
        while Instant::now() < until && !self.record.has_failed() {
            self.record.pending.fetch_add(STEPS.len(), Ordering::Relaxed);
            let run = self.run(until + GRACE).await;
            self.record.pending.fetch_sub(STEPS.len(), Ordering::Relaxed);
            if let Err(Failure(why)) = run {
                self.record.seen().wrong(why);
            }
            tokio::time::sleep(Duration::from_millis(self.dice.roll() % 200)).await;
        }
    }

    /// Starts a run and drives it to its end.
    async fn run(&mut self, give_up: Instant) -> Outcome {
        let effects = STEPS.map(|_| (next_nonce(), Effect::Done));
        let line = |at: usize| format!("nonce-{}", String::from_utf8_lossy(effects[at].0.digits()));
        let inputs = json!({"commit": line(0), "stage": line(1), "stamp": line(2)});
        let plan = json!({
            "plan": "1", "steps": {"order": {"tool": "order-prefab/order", "args": inputs}},
            "outputs": {"stamp": {"$from": "order/stamp"}}
        });
        let body = json!({"plan": plan});
        let started = self.until(give_up, Method::POST, "/v1/plans", &body, &line(0)).await?;
        let path = format!("/v1/plans/{}", started["run"].as_str().unwrap_or_default());
        let mut run = Run { path, effects, interrupted: None };
        self.record.seen().requests.entry(NAME).or_default().0 += 1;
        loop {
            let shown = self.until(give_up, Method::GET, &run.path, &Value::Null, "").await?;
            match shown["status"].as_str().unwrap_or_default() {
                "succeeded" => return self.succeeded(&run, &shown, give_up).await,
                "failed" => {
                    // Files cannot be written to a full disk. That no effect happened twice is checked for all.
                    let step = &shown["steps"][0];
                    let exit = format!("it ended with code {NO_SPACE}");
                    if step["error_kind"] != "FileError" && !step.to_string().contains(&exit) {
                        return Err(Failure(format!("the run failed: {shown}")));
                    }
                    self.record.seen().attempt("run failed without a disk");
                    return Ok(());
                }
                "waiting" => self.answer(&mut run, &shown).await,
                "interrupted" => {
                    let since = *run.interrupted.get_or_insert_with(Instant::now);
                    if since.elapsed() > INTERRUPTED {
                        let path = format!("{}/resume", run.path);
                        drop(self.send(Method::POST, &path, &Value::Null, "").await);
                        self.record.seen().attempt("run continued by its client");
                    }
                }
                _ => run.interrupted = None,
            }
            if Instant::now() > give_up {
                return Err(Failure(format!("the run does not end: {shown}")));
            }
            tokio::time::sleep(Duration::from_millis(100 + self.dice.roll() % 200)).await;
        }
    }

    /// Answers the questions of a run. That an effect is unknown is recorded.
    async fn answer(&self, run: &mut Run, shown: &Value) {
        for question in shown["questions"].as_array().into_iter().flatten() {
            let step = question["step"].as_str().unwrap_or_default();
            let mut answer = json!({"step": step, "answer": "approve"});
            if question["kind"] == "uncertain" {
                answer = json!({"step": step, "answer": "output", "output": {}});
                let at = STEPS.iter().position(|name| step.ends_with(name));
                if let Some(at) = at {
                    run.effects[at].1 = Effect::Unknown;
                }
            }
            drop(self.send(Method::POST, &format!("{}/answer", run.path), &answer, "").await);
            self.record.seen().attempt("question of a run answered");
        }
    }

    /// Records the effects of a run, and compares its file.
    async fn succeeded(&self, run: &Run, shown: &Value, give_up: Instant) -> Outcome {
        {
            let mut seen = self.record.seen();
            seen.attempt("run succeeded");
            for (nonce, effect) in run.effects {
                seen.acknowledge(nonce, effect);
            }
        }
        let (nonce, effect) = run.effects[2];
        if effect != Effect::Done {
            return Ok(());
        }
        let Some(file) = shown["outputs"]["stamp"]["files"]["output"][0].as_str() else {
            return Err(Failure(format!("a run without its file: {shown}")));
        };
        let path = format!(
            "/internal/files/download?s3_url={}",
            file.replace(':', "%3A").replace('/', "%2F")
        );
        let link = self.until(give_up, Method::GET, &path, &Value::Null, "").await?;
        let link = link["presigned_url"].as_str().unwrap_or_default();
        let path = link.find("/internal/").map_or(link, |at| &link[at..]);
        let text = self.until(give_up, Method::GET, path, &Value::Null, "").await?;
        let expected = format!("nonce-{}\n", String::from_utf8_lossy(nonce.digits()));
        if text.as_str() == Some(&expected) {
            return Ok(());
        }
        Err(Failure(format!("{file} has {text}, not {expected}")))
    }

    /// Sends a request until it is answered with 2xx.
    async fn until(
        &self,
        give_up: Instant,
        method: Method,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Outcome<Value> {
        loop {
            self.record.seen().requests.entry(NAME).or_default().1 += 1;
            let how = match self.send(method.clone(), path, body, key).await {
                Ok((200..=299, answer)) => return Ok(answer),
                Ok((status @ (409 | 424 | 429 | 500..), _)) => status.to_string(),
                Ok((status, answer)) => {
                    return Err(Failure(format!("{method} {path}: {status} {answer}")));
                }
                Err(Failure(why)) => why,
            };
            if Instant::now() > give_up {
                return Err(Failure(format!("{method} {path} is not answered: {how}")));
            }
            self.record.seen().attempt(&how);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Sends a request once. The body of the answer is a document, or a text.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Outcome<(u16, Value)> {
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.gateway));
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let bytes = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let request = request.header("content-type", "application/json").body(Full::new(bytes))?;
        let exchange = async {
            let reply = self.pool.request(request).await.ok()?;
            let status = reply.status().as_u16();
            Some((status, reply.into_body().collect().await.ok()?.to_bytes()))
        };
        let lost = || Failure("connection lost (a plan)".into());
        let (status, body) =
            tokio::time::timeout(PATIENCE, exchange).await.ok().flatten().ok_or_else(lost)?;
        let text = || String::from_utf8_lossy(&body).into_owned().into();
        Ok((status, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
    }
}
