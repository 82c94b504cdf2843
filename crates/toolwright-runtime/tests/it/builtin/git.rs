//! Git in repositories made for the test, some of them malicious.

use std::path::Path;
use std::process::Command;

use toolwright_runtime::call::Completeness;

use super::{Bench, numbered, strings};

/// Runs git as a user would.
fn git(at: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(at)
        .args(["-c", "user.name=测试", "-c", "user.email=test@example.com"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with one commit.
fn repository() -> Bench {
    let bench = Bench::new();
    let root = bench.root();
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["config", "user.name", "测试"]);
    git(&root, &["config", "user.email", "test@example.com"]);
    bench.put("读我.md", "第一行\n");
    bench.put("src/a.rs", "fn a() {}\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "第一次提交\n\nwith a body"]);
    bench
}

#[tokio::test]
async fn a_change_goes_from_file_to_commit() {
    let bench = repository();
    let clean = bench.json("git_status", "{}").await;
    assert_eq!(clean.get("clean").unwrap().as_bool(), Some(true));
    assert_eq!(clean.get("branch").unwrap().as_str(), Some("main"));

    bench.put("读我.md", "第一行\n第二行\n");
    bench.put("新 文件.txt", "x");
    std::fs::remove_file(bench.root().join("src/a.rs")).unwrap();
    let status = bench.json("git_status", "{}").await;
    assert_eq!(strings(status.get("unstaged").unwrap(), "path"), ["src/a.rs", "读我.md"]);
    assert_eq!(strings(status.get("unstaged").unwrap(), "change"), ["deleted", "modified"]);
    assert_eq!(status.pointer("/untracked/0").unwrap().as_str(), Some("新 文件.txt"));

    let diff = bench.call("git_diff", "{}").await.unwrap();
    assert!(diff.contains(r#""path":"读我.md","added":1,"deleted":0"#), "{diff}");
    assert!(diff.contains("+++ b/读我.md") && diff.contains("\n+第二行"), "{diff}");
    let one = bench.call("git_diff", r#"{"path":"src"}"#).await.unwrap();
    assert!(one.contains("-fn a() {}") && !one.contains("第二行"), "{one}");
    let none = bench.json("git_diff", r#"{"staged":true}"#).await;
    assert_eq!(none.get("files").unwrap().as_array().unwrap().len(), 0);

    bench.refused("git_commit", r#"{"message":"too early"}"#, "call git_add first").await;
    let staged = bench.json("git_add", r#"{"paths":["."]}"#).await;
    assert_eq!(staged.get("count").unwrap().as_u64(), Some(3));
    let diff = bench.call("git_diff", r#"{"staged":true,"path":"读我.md"}"#).await.unwrap();
    assert!(diff.contains("\n+第二行"), "{diff}");
    let made = bench.json("git_commit", r##"{"message":"# 第二次\n\n- 内容"}"##).await;
    assert_eq!(made.get("files").unwrap().as_u64(), Some(3));
    let id = git(&bench.root(), &["rev-parse", "HEAD"]);
    assert_eq!(made.get("id").unwrap().as_str(), Some(id.trim()));

    let log = bench.json("git_log", "{}").await;
    let messages = strings(log.get("commits").unwrap(), "message");
    assert_eq!(messages, ["# 第二次\n\n- 内容", "第一次提交\n\nwith a body"]);
    assert_eq!(strings(log.get("commits").unwrap(), "author"), ["测试", "测试"]);
    let newest = bench.json("git_log", r#"{"limit":1}"#).await;
    assert_eq!(newest.get("more").unwrap().as_bool(), Some(true));
    let path = bench.json("git_log", r#"{"path":"新 文件.txt"}"#).await;
    assert_eq!(path.get("commits").unwrap().as_array().unwrap().len(), 1);
    let older = bench.call("git_diff", r#"{"commit":"HEAD~1"}"#).await.unwrap();
    assert!(older.contains("\n+第二行"), "{older}");
}

#[tokio::test]
async fn renames_and_conflicts_are_reported() {
    let bench = repository();
    let root = bench.root();
    git(&root, &["mv", "src/a.rs", "src/b.rs"]);
    let status = bench.json("git_status", "{}").await;
    assert_eq!(status.pointer("/staged/0/change").unwrap().as_str(), Some("renamed"));
    assert_eq!(status.pointer("/staged/0/from").unwrap().as_str(), Some("src/a.rs"));
    let diff = bench.call("git_diff", r#"{"staged":true}"#).await.unwrap();
    assert!(diff.contains(r#""path":"src/b.rs","from":"src/a.rs""#), "{diff}");
    git(&root, &["commit", "-q", "-m", "rename"]);
    git(&root, &["checkout", "-q", "-b", "other"]);
    bench.put("读我.md", "他们\n");
    git(&root, &["commit", "-q", "-a", "-m", "theirs"]);
    git(&root, &["checkout", "-q", "main"]);
    bench.put("读我.md", "我们\n");
    git(&root, &["commit", "-q", "-a", "-m", "ours"]);
    let merged = Command::new("git").current_dir(&root).args(["merge", "other"]).output().unwrap();
    assert!(!merged.status.success());
    let status = bench.json("git_status", "{}").await;
    assert_eq!(status.pointer("/conflicts/0").unwrap().as_str(), Some("读我.md"));
}

#[tokio::test]
async fn an_empty_repository_has_a_first_commit() {
    let bench = Bench::new();
    git(&bench.root(), &["init", "-q"]);
    git(&bench.root(), &["config", "user.name", "t"]);
    git(&bench.root(), &["config", "user.email", "t@example.com"]);
    let log = bench.json("git_log", "{}").await;
    assert_eq!(log.get("commits").unwrap().as_array().unwrap().len(), 0);
    bench.put("a", "a");
    bench.call("git_add", r#"{"paths":["a"]}"#).await.unwrap();
    let status = bench.json("git_status", "{}").await;
    assert_eq!(status.pointer("/staged/0/change").unwrap().as_str(), Some("added"));
    assert!(status.get("commit").is_none());
    bench.call("git_commit", r#"{"message":"first"}"#).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_is_not_a_repository_is_reported() {
    let bench = Bench::new();
    for tool in ["git_status", "git_diff", "git_log"] {
        bench.refused(tool, "{}", "not the top of a git repository").await;
    }
    // This also holds if it lies within another repository, whose files are not shown.
    git(bench.dir.path(), &["init", "-q"]);
    bench.refused("git_status", "{}", "not the top of a git repository").await;
    bench.refused("git_add", r#"{"paths":["."]}"#, "not the top").await;
}

#[tokio::test]
async fn arguments_are_never_options() {
    let bench = repository();
    bench.put("--version", "x");
    bench.put("*.md", "star");
    let staged = bench.json("git_add", r#"{"paths":["--version","*.md"]}"#).await;
    assert_eq!(staged.get("count").unwrap().as_u64(), Some(2));
    for path in ["--all", ":/", ":(top)*", "..", "/etc", ".git/config"] {
        let arguments = format!(r#"{{"paths":["{path}"]}}"#);
        assert!(bench.call("git_add", &arguments).await.is_err(), "{path}");
    }
    let hostile = bench.root().join("made");
    for name in ["--output=made", "-h", "", "HEAD --output=made", "no-such", "HEAD:读我.md"] {
        let arguments = format!(r#"{{"commit":"{name}"}}"#);
        bench.refused("git_diff", &arguments, "There is no commit").await;
        bench.refused("git_log", &arguments, "There is no commit").await;
    }
    assert!(!hostile.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_repository_cannot_have_programs_run() {
    use std::os::unix::fs::PermissionsExt;
    let bench = repository();
    let root = bench.root();
    let ran = bench.dir.path().join("ran");
    let script = format!("#!/bin/sh\ntouch '{}'\ncat\nexit 0\n", ran.display());
    let program = bench.dir.path().join("program");
    std::fs::write(&program, &script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_string_lossy().into_owned();
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-index-change"]
    {
        std::fs::copy(&program, root.join(".git/hooks").join(hook)).unwrap();
    }
    for key in
        ["core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager"]
    {
        git(&root, &["config", key, &program]);
    }
    for key in ["core.editor", "gpg.program", "core.sshCommand", "core.askPass"] {
        git(&root, &["config", key, &program]);
    }
    git(&root, &["config", "commit.gpgSign", "true"]);
    git(&root, &["config", "log.showSignature", "true"]);
    bench.put(".gitattributes", "*.md diff=evil\n");
    bench.put("读我.md", "changed\n");
    bench.call("git_status", "{}").await.unwrap();
    bench.call("git_diff", "{}").await.unwrap();
    bench.call("git_add", r#"{"paths":["."]}"#).await.unwrap();
    bench.call("git_diff", r#"{"staged":true}"#).await.unwrap();
    bench.call("git_commit", r#"{"message":"x"}"#).await.unwrap();
    bench.call("git_log", "{}").await.unwrap();
    assert!(!ran.exists());
    // Filters cannot be disabled without changing what is added.
    git(&root, &["config", "filter.evil.clean", &program]);
    bench.put(".gitattributes", "*.md filter=evil\n");
    bench.put("读我.md", "changed again\n");
    for (tool, arguments) in [
        ("git_status", "{}"),
        ("git_diff", "{}"),
        ("git_add", r#"{"paths":["."]}"#),
        ("git_commit", r#"{"message":"x"}"#),
    ] {
        bench.refused(tool, arguments, "sets filter.evil.clean").await;
    }
    assert!(!ran.exists());
}

/// A repository can make git wait for ever. Cancelling the call leaves no process.
#[cfg(unix)]
#[tokio::test]
async fn a_hanging_git_is_killed_with_its_call() {
    use std::io::{ErrorKind, Write};
    use std::os::unix::fs::OpenOptionsExt;
    let bench = repository();
    let pipe = bench.dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    git(&bench.root(), &["config", "core.excludesFile", &pipe.to_string_lossy()]);
    let cancel = bench.session.cancel.clone();
    let call = toolwright_core::Call::new("1", "git_status", toolwright_core::Arguments::none());
    let called = bench.toolbox.call_with(&bench.session, &call, Completeness::Complete);
    let watch = async {
        // A pipe can be opened for writing without blocking once there is a reader; git reads until
        // this end is closed.
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let mut options = std::fs::OpenOptions::new();
        let options = options.write(true).custom_flags(flags);
        let end = until(|| options.open(&pipe).ok()).await;
        cancel.cancel();
        end
    };
    let (called, mut end) = tokio::join!(called, watch);
    let error = called.result().unwrap().error.clone().unwrap();
    assert_eq!(error.kind, toolwright_runtime::CallErrorKind::Cancelled);
    // The reader is gone.
    until(|| end.write(b"\n").err().filter(|error| error.kind() == ErrorKind::BrokenPipe)).await;
}

/// Polls until a value is available, or panics after a timeout.
#[cfg(unix)]
async fn until<T>(mut there: impl FnMut() -> Option<T>) -> T {
    let wait = async {
        loop {
            match there() {
                Some(there) => return there,
                None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), wait).await.unwrap()
}

#[cfg(unix)]
#[tokio::test]
async fn submodules_run_no_programs() {
    let bench = repository();
    let root = bench.root();
    let inner = root.join("内部");
    std::fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q", "-b", "main"]);
    bench.put("内部/f", "one\n");
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "-q", "-m", "inner"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "with a submodule"]);
    // Programs that git runs in a submodule if it looks at the files there, or shows their changes.
    let trace = bench.dir.path().join("trace");
    let program = bench.dir.path().join("program");
    let script = format!("#!/bin/sh\necho ran >> '{}'\ncat\n", trace.display());
    std::fs::write(&program, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let program = program.to_string_lossy();
    git(&inner, &["config", "diff.external", &program]);
    git(&inner, &["config", "filter.evil.clean", &program]);
    std::fs::write(inner.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    git(&root, &["config", "diff.submodule", "diff"]);
    let touch = || {
        let file = std::fs::File::options().write(true).open(inner.join("f")).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    bench.put("b.txt", "b");
    for (tool, arguments) in [
        ("git_status", "{}"),
        ("git_diff", "{}"),
        ("git_add", r#"{"paths":["."]}"#),
        ("git_commit", r#"{"message":"b"}"#),
    ] {
        touch();
        bench.call(tool, arguments).await.unwrap();
        assert!(!trace.exists(), "{tool} {arguments}");
    }
    bench.refused("git_add", r#"{"paths":["内部"]}"#, "\"内部\" is a submodule").await;
    // Plain git does run the programs on add and diff, so the traps work.
    touch();
    git(&root, &["add", "内部"]);
    std::fs::remove_file(&trace).unwrap();

    git(&inner, &["config", "--unset", "filter.evil.clean"]);
    bench.put("内部/f", "two\n");
    git(&inner, &["commit", "-q", "-a", "-m", "inner again"]);
    bench.call("git_diff", "{}").await.unwrap();
    bench.call("git_diff", r#"{"commit":"HEAD~1"}"#).await.unwrap();
    assert!(!trace.exists());
    git(&root, &["diff"]);
    assert!(trace.exists());
}

#[tokio::test]
async fn hooks_in_the_configuration_are_refused() {
    let bench = repository();
    git(&bench.root(), &["config", "hook.evil.command", "touch trace"]);
    git(&bench.root(), &["config", "hook.evil.event", "post-commit"]);
    bench.refused("git_status", "{}", "sets hook.evil.command").await;
}

#[tokio::test]
async fn malformed_names_match_nothing() {
    let bench = repository();
    let long = format!(r#"{{"commit":"{}"}}"#, "x".repeat(1 << 20));
    for arguments in [r#"{"commit":"a\u0000b"}"#, r#"{"commit":"--output=x"}"#, &long] {
        bench.refused("git_log", arguments, "There is no commit").await;
    }
    bench.refused("git_add", r#"{"paths":["*.md"]}"#, "'*.md' did not match any files").await;
    let names: Vec<String> =
        (0..1000).map(|number| format!("\"{number}{}\"", "/x".repeat(2000))).collect();
    let many = format!(r#"{{"paths":[{}]}}"#, names.join(","));
    bench.refused("git_add", &many, "git add failed: fatal: pathspec '0/x/x").await;
}

#[tokio::test]
async fn a_repository_cannot_lead_elsewhere() {
    let bench = repository();
    let root = bench.root();
    // Another worktree, by configuration.
    let outside = bench.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "secret").unwrap();
    git(&root, &["config", "core.worktree", &outside.to_string_lossy()]);
    let status = bench.call("git_status", "{}").await.unwrap();
    assert!(status.contains("\"clean\":true") && !status.contains("secret"), "{status}");
    // Another repository, by a file.
    let other = Bench::new();
    other.put("a.txt", "a");
    let way = format!("gitdir: {}\n", root.join(".git").display());
    std::fs::write(other.root().join(".git"), way).unwrap();
    other.refused("git_log", "{}", "leads to a repository that does not know").await;
    #[cfg(unix)]
    {
        std::fs::remove_file(other.root().join(".git")).unwrap();
        super::link(root.join(".git"), other.root().join(".git"));
        other.refused("git_log", "{}", "leads to a repository that does not know").await;
    }
}

#[tokio::test]
async fn a_linked_worktree_is_a_repository() {
    let bench = repository();
    git(&bench.root(), &["config", "--unset", "user.name"]);
    let linked = bench.dir.path().join("linked");
    git(&bench.root(), &["worktree", "add", "-q", &linked.to_string_lossy()]);
    let root = toolwright_runtime::builtin::Root::open(&linked).unwrap();
    let toolbox =
        toolwright_runtime::toolbox::Toolbox::new(toolwright_runtime::builtin::handlers(root))
            .unwrap();
    let call = toolwright_core::Call::new("1", "git_status", toolwright_core::Arguments::none());
    let session = toolwright_runtime::Session::new("run");
    let called = toolbox.call_with(&session, &call, Completeness::Complete).await;
    let text = super::words(&called.result().unwrap().outcome.content);
    assert!(text.contains(r#""branch":"linked""#), "{text}");
}

#[tokio::test]
async fn a_large_diff_is_bounded() {
    let bench = repository();
    let large = numbered(300_000);
    bench.put("读我.md", &large);
    let diff = bench.call("git_diff", "{}").await.unwrap();
    assert!(diff.len() < 2000, "{}", diff.len());
    assert!(diff.contains(r#""added":300000"#), "{diff}");
    super::handle_in(&diff);
    bench.put("many/a", "");
    for number in 0..1000 {
        bench.put(&format!("f{number}"), "");
    }
    let status = bench.call("git_status", "{}").await.unwrap();
    assert!(status.contains("\"more\":true"), "{status}");
}
