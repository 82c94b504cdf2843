//! The built-in tools, called as a model calls them.

mod data;
mod files;
mod git;
mod scenario;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use toolwright_core::Body;
use toolwright_core::{Arguments, Call, Json};
use toolwright_runtime::builtin::{Root, handlers};
use toolwright_runtime::call::Completeness;
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::toolbox::Toolbox;
use toolwright_runtime::{CallErrorKind, Session};

/// A folder with all tools rooted in it.
struct Bench {
    dir: TempDir,
    toolbox: Toolbox,
    session: Session,
    calls: AtomicUsize,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("root")).unwrap();
        let root = Root::open(dir.path().join("root")).unwrap();
        let toolbox = Toolbox::new(handlers(root)).unwrap();
        let toolbox = toolbox.with_handles(Arc::new(MemoryHandles::default()));
        Bench { dir, toolbox, session: Session::new("run"), calls: AtomicUsize::new(0) }
    }

    /// The root.
    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("root")
    }

    /// Writes a file below the root.
    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Calls a tool; returns its text, or the error. No message contains the path of the root.
    async fn call(&self, tool: &str, arguments: &str) -> Result<String, String> {
        let id = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = Call::new(id, tool, Arguments::from_text(arguments));
        let called = self.toolbox.call_with(&self.session, &call, Completeness::Complete).await;
        let done = called.result().expect("nobody is asked");
        let text = words(&done.outcome.content);
        assert!(!text.contains(&*self.dir.path().to_string_lossy()), "{text}");
        match &done.error {
            None => Ok(text),
            Some(error) => {
                let kinds = [
                    CallErrorKind::Failed,
                    CallErrorKind::InvalidArguments,
                    CallErrorKind::BadHandle,
                ];
                assert!(kinds.contains(&error.kind), "{error:?}");
                Err(text)
            }
        }
    }

    async fn json(&self, tool: &str, arguments: &str) -> Json {
        Json::parse(&self.call(tool, arguments).await.unwrap()).unwrap()
    }

    /// Calls a tool and asserts that it fails, with these words in the message.
    async fn refused(&self, tool: &str, arguments: &str, words: &str) {
        let error = self.call(tool, arguments).await.expect_err(arguments);
        assert!(error.contains(words), "{tool} {arguments}: {error}");
    }
}

/// The text of some parts.
fn words(parts: &[toolwright_core::Part]) -> String {
    let texts = parts.iter().map(|part| match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Json(value) => value.compact(),
        other => panic!("{other:?}"),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The first handle in some text.
fn handle_in(text: &str) -> &str {
    let start = text.find("tw:").expect("a handle");
    &text[start..start + 35]
}

/// The strings under a key of the items of an array.
fn strings<'j>(items: &'j Json, key: &str) -> Vec<&'j str> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| item.get(key).and_then(Json::as_str).unwrap()).collect()
}

/// A text of this many numbered lines.
fn numbered(lines: usize) -> String {
    (1..=lines).fold(String::new(), |mut text, line| {
        writeln!(text, "第 {line} 行").unwrap();
        text
    })
}

#[cfg(unix)]
fn link(target: impl AsRef<Path>, at: impl AsRef<Path>) {
    std::os::unix::fs::symlink(target, at).unwrap();
}

#[test]
fn every_tool_is_described() {
    let bench = Bench::new();
    let tools = bench.toolbox.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "list_files",
            "read_file",
            "write_file",
            "search_files",
            "git_status",
            "git_diff",
            "git_log",
            "git_add",
            "git_commit",
            "read_csv",
            "drop_missing",
        ]
    );
    for tool in &tools {
        assert!(tool.description.as_ref().is_some_and(|text| text.len() > 20), "{}", tool.name);
        let parameters = tool.parameters().unwrap().get("properties").unwrap();
        for (name, schema) in parameters.as_object().unwrap().iter() {
            assert!(schema.get("description").is_some(), "{} {name}", tool.name);
            assert!(!matches!(name, "root" | "scope"), "{}", tool.name);
        }
    }
}
