//! What functions that run as processes can reach: their own files, and neither the data folder, other tenants nor
//! the gateway.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use toolwright_catalog::{Catalog, Package, PublishOptions};
use toolwright_core::Json;

use crate::exchange::tools::{CHAT, TOOLS, question, whole};
use crate::gateway::{Answer, Gateway, Upstream, by_hand, items_at, table, text_at, until};
use crate::mcp::names;
use crate::process::processes;
use crate::run::toolwright_in;

/// A prefab that runs the shell script that it receives: `$input` is its document, `$from` its input file, `$out`
/// its folder for output files. The script succeeds if its last command does.
const MANIFEST: &str = r#"{
  "id": "script-prefab", "version": "1.0.0", "name": "Script", "description": "Runs scripts",
  "runtime": {"process": {"command": ["sh", "run.sh"]}},
  "functions": [
    {"name": "run", "description": "Runs a script",
     "parameters": [{"name": "script", "type": "string", "description": "It", "required": true}]},
    {"name": "write", "description": "Runs a script that writes files",
     "parameters": [{"name": "script", "type": "string", "description": "It", "required": true}],
     "files": {"output": {"type": "array", "items": {"type": "OutputFile"}, "description": "out"}}},
    {"name": "copy", "description": "Copies a file", "parameters": [],
     "files": {"input": {"type": "array", "items": {"type": "InputFile"}, "required": true, "description": "in"},
               "output": {"type": "array", "items": {"type": "OutputFile"}, "description": "out"}}},
    {"name": "hang", "description": "Runs a script that hangs", "deadline": "3s",
     "parameters": [{"name": "script", "type": "string", "description": "It", "required": true}]},
    {"name": "hang_streaming", "description": "Runs a script that hangs", "deadline": "3s", "streaming": true,
     "parameters": [{"name": "script", "type": "string", "description": "It", "required": true}]}
  ]
}"#;

const SCRIPT: &str = r#"
input=$(cat)
field() { printf '%s' "$input" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
out=$(field output_dir)/output
from=$(printf '%s' "$input" | sed -n 's/.*"files":{"input":\["\([^"]*\)"\].*/\1/p')
case $(field function) in
  copy) cp "$from" "$out/copied.txt" && printf true ;;
  *) eval "$(field script)" >&2 && printf true ;;
esac
"#;

/// Writes the prefab to a folder, which is returned.
fn source(folder: &Path) -> String {
    let source = folder.join("script-prefab");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("prefab.json"), MANIFEST).unwrap();
    fs::write(source.join("run.sh"), SCRIPT).unwrap();
    source.to_str().unwrap().to_owned()
}

/// A gateway whose catalog has the prefab.
fn start(config: &str) -> Gateway {
    let gateway = Gateway::start(config);
    let folder = tempfile::tempdir().unwrap();
    let package = Package::read(Path::new(&source(folder.path()))).unwrap();
    let catalog = Catalog::open(&gateway.data()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
    gateway
}

fn body(function: &str, script: &str) -> String {
    format!(r#"{{"function": "{function}", "parameters": {{"script": "{script}"}}}}"#)
}

fn execute(gateway: &Gateway, function: &str, script: &str) -> Answer {
    let path = "/v1/prefabs/script-prefab/execute";
    gateway.post(path, &[], body(function, script).as_bytes()).ok()
}

/// Runs a script, which must succeed.
fn succeeds(gateway: &Gateway, script: &str) {
    let answer = execute(gateway, "run", script);
    assert_eq!(text_at(&answer.json(), "/status"), "SUCCESS", "{script}: {}", answer.text());
}

/// Runs a script, which must fail, and returns the message.
fn fails(gateway: &Gateway, script: &str) -> String {
    let answer = execute(gateway, "run", script);
    assert_eq!(text_at(&answer.json(), "/status"), "FAILED", "{script}: {}", answer.text());
    text_at(&answer.json(), "/error/message")
}

/// Uploads a file, copies it with a function, and returns the copy.
fn copy(gateway: &Gateway) -> Vec<u8> {
    let form = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--x--";
    let kind = [("content-type", "multipart/form-data; boundary=x")];
    let uploaded = gateway.post("/internal/files/upload", &kind, form.as_bytes()).ok().json();
    let url = text_at(&uploaded, "/s3_url");
    let body =
        format!(r#"{{"function": "copy", "parameters": {{}}, "files": {{"input": ["{url}"]}}}}"#);
    let answer = gateway.post("/v1/prefabs/script-prefab/execute", &[], body.as_bytes()).ok();
    assert_eq!(text_at(&answer.json(), "/status"), "SUCCESS", "{}", answer.text());
    let copied = text_at(&answer.json(), "/output/files/output/0");
    let link = gateway.get(&format!("/internal/files/download?s3_url={copied}"), &[]).ok().json();
    let link = text_at(&link, "/presigned_url");
    gateway.get(link.strip_prefix(&format!("http://{}", gateway.address)).unwrap(), &[]).ok().body
}

#[test]
fn files_pass_through_the_default_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    source(folder.path());
    let at = folder.path().to_owned();
    let run = |arguments: &[&str]| {
        let ran = toolwright_in(&at, arguments, b"");
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    };
    fs::write(at.join("a.txt"), "hello").unwrap();
    for (data, saved) in [(&[][..], "a"), (&["--data", "other/data"], "b")] {
        run(&[&["catalog", "add", "script-prefab"], data].concat());
        let copy =
            ["catalog", "call", "script-prefab", "copy", "--file", "input=a.txt", "--output"];
        run(&[&copy[..], &[saved], data].concat());
        assert_eq!(fs::read_to_string(at.join(saved).join("copied.txt")).unwrap(), "hello");
    }
    let gateway = Gateway::start_by_hand(folder, "");
    assert_eq!(copy(&gateway), b"hello");
}

#[test]
fn a_process_cannot_change_its_published_version() {
    let gateway = start("");
    succeeds(&gateway, "echo exit 9 > run.sh && echo x > new");
    let published = gateway.data().join("catalog/script-prefab/1.0.0");
    assert_eq!(fs::read_to_string(published.join("run.sh")).unwrap(), SCRIPT);
    assert_eq!(fs::read_dir(&published).unwrap().count(), 2, "the manifest and the script");
    succeeds(&gateway, "test ! -e new");
    until("the removal of what the calls used", || {
        (fs::read_dir(gateway.data().join("work")).unwrap().count() == 0).then_some(())
    });
}

#[test]
fn a_published_version_that_was_changed_is_refused() {
    let gateway = start("");
    let published = gateway.data().join("catalog/script-prefab/1.0.0");
    succeeds(&gateway, "true");
    let refused = |what: &str| {
        let message = fails(&gateway, "true");
        assert!(message.contains("script-prefab@1.0.0"), "{what}: {message}");
        assert!(message.contains("`toolwright catalog remove script-prefab 1.0.0`"), "{message}");
        let shown = gateway.data();
        assert!(!message.contains(shown.to_str().unwrap()), "{message}");
    };
    fs::write(published.join("run.sh"), "printf '\"changed\"'").unwrap();
    refused("other content");
    fs::write(published.join("run.sh"), SCRIPT).unwrap();
    succeeds(&gateway, "true");
    fs::write(published.join("more.sh"), "").unwrap();
    refused("another file");
    fs::remove_file(published.join("more.sh")).unwrap();
    fs::set_permissions(published.join("run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    refused("another permission");
    fs::remove_file(published.join("run.sh")).unwrap();
    symlink("/dev/zero", published.join("run.sh")).unwrap();
    refused("a link");
    fs::remove_dir_all(&published).unwrap();
    refused("nothing");
}

#[test]
fn links_in_output_folders_are_not_followed() {
    let gateway = start("");
    let outside = tempfile::tempdir().unwrap();
    let secrets = outside.path().join("output/output");
    fs::create_dir_all(&secrets).unwrap();
    fs::write(secrets.join("secret.txt"), "secret").unwrap();
    fs::write(outside.path().join("output/secret.txt"), "secret").unwrap();
    let at = outside.path().display();
    for script in [
        format!("ln -s {at}/output/secret.txt $out/a.txt"),
        format!("rm -r $out && ln -s {at}/output $out"),
        format!("d=$(dirname $out) && rm -r $d && ln -s {at}/output $d"),
        format!("d=$(dirname $(dirname $out)) && mv $d $d.old && ln -s {at} $d"),
        "mkfifo $out/pipe".to_owned(),
    ] {
        let answer = execute(&gateway, "write", &script).json();
        let files = answer.pointer("/output/files").map(Json::compact).unwrap_or_default();
        assert!(files.is_empty() || files == "{}", "{script}: {}", answer.compact());
    }
    let answer = execute(&gateway, "write", "echo a > $out/a.txt && ln -s a.txt $out/b.txt").json();
    assert_eq!(items_at(&answer, "/output/files/output").len(), 1, "{}", answer.compact());
}

/// The version of Landlock that the kernel has, found without this project's code; 0 for none.
fn landlock_version() -> i64 {
    let syscall = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))";
    let output = Command::new("python3").args(["-c", syscall]).output().unwrap();
    let version: i64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    version.max(0)
}

#[test]
fn a_process_is_confined_to_its_own_files() {
    let outside = tempfile::tempdir().unwrap();
    let note = outside.path().join("note");
    fs::write(&note, "a note").unwrap();
    let allowed = tempfile::tempdir().unwrap();
    fs::write(allowed.path().join("model"), "a model").unwrap();
    let config = |more: &str| {
        let described = format!("{:?}", note.display().to_string());
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/stdio.py");
        format!("[mcp.s]\ncommand = [\"python3\", \"{server}\", \"describe\", {described}]\n{more}")
    };
    let gateway = start(&config(""));
    copy(&gateway);
    // What holds everywhere: its own files, and folders for more of them.
    succeeds(&gateway, "cat run.sh prefab.json > /dev/null");
    succeeds(&gateway, "echo x > here && echo x > $TMPDIR/there");
    succeeds(
        &gateway,
        "echo x > here && test $(stat -c %a $TMPDIR) = 700 && test $(stat -c %a here) = 600",
    );
    let data = gateway.data();
    let status = |gateway: &Gateway| {
        let data = gateway.data();
        let ran = toolwright_in(
            outside.path(),
            &["catalog", "test", "script-prefab", "--json", "--data", data.to_str().unwrap()],
            b"",
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        Json::parse(&ran.text()).unwrap().get("confined").cloned()
    };
    let version = landlock_version();
    assert_eq!(status(&gateway), Some(Json::Bool(version > 0)), "Landlock {version}");
    let is_stored = |path: &PathBuf| fs::read(path).is_ok_and(|content| content == b"hello");
    let stored = files_below(&data.join("files")).into_iter().find(is_stored).unwrap();
    let reading = [
        format!("cat {}/signing.key", data.display()),
        format!("cat {}", stored.display()),
        format!("ls {}", data.display()),
        format!("cat {}/catalog/script-prefab/1.0.0/run.sh", data.display()),
        format!("cat {}", note.display()),
        format!("cat {}/model", allowed.path().display()),
        format!("grep -q UPSTREAM_KEY /proc/{}/environ", gateway.id()),
    ];
    let writing = [
        format!("echo x > {}/new", data.display()),
        format!("echo x > {}/new", outside.path().display()),
        "echo x > /usr/local/toolwright-test".to_owned(),
    ];
    for script in &reading {
        if version > 0 {
            let message = fails(&gateway, script);
            assert!(message.contains("denied"), "{script}: {message}");
        } else {
            succeeds(&gateway, script);
        }
    }
    if version > 0 {
        for script in &writing {
            let message = fails(&gateway, script);
            assert!(message.contains("denied"), "{script}: {message}");
        }
    }
    if version >= 6 {
        fails(&gateway, &format!("kill -9 {}", gateway.id()));
        succeeds(&gateway, "sleep 100 & kill -9 $!");
    }
    // An MCP server is not a function, and is not confined.
    assert_eq!(names(&gateway), ["s_pay", "s_stay"], "it reads the description in a file");
    // The operator may open more folders.
    let (read, write) = (allowed.path().display(), outside.path().display());
    let more = format!("[prefabs.script-prefab]\nread = [\"{read}\"]\nwrite = [\"{write}\"]\n");
    gateway.reload(&config(&more));
    until("the folders", || {
        let script = format!("cat {read}/model && echo x > {write}/new");
        let answer = execute(&gateway, "run", &script).json();
        (text_at(&answer, "/status") == "SUCCESS").then_some(())
    });
    if version > 0 {
        fails(&gateway, &format!("echo x > {read}/model"));
    }
}

/// Publishes a prefab with a script, and calls its function with the programs of this test's `PATH`, after those of a
/// folder. Returns whether it succeeded, and what it wrote.
fn call_program(command: &str, script: (&str, &str), first: &Path) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program-prefab");
    fs::create_dir(&source).unwrap();
    let manifest = format!(
        r#"{{"id": "program-prefab", "version": "1.0.0", "name": "P", "description": "Runs a program",
            "runtime": {{"process": {{"command": {command}}}}},
            "functions": [{{"name": "run", "description": "Runs", "parameters": []}}]}}"#
    );
    fs::write(source.join("prefab.json"), manifest).unwrap();
    write_program(&source.join(script.0), script.1);
    let path = format!("{}:{}", first.display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
        let output = command.current_dir(folder.path()).args(arguments).env("PATH", &path).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let (is_added, text) = run(&["catalog", "add", "program-prefab"]);
    assert!(is_added, "{text}");
    run(&["catalog", "call", "program-prefab", "run"])
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn interpreters_start_wherever_they_are_installed() {
    let empty = tempfile::tempdir().unwrap();
    let python = "import json, ssl, sys, tempfile, subprocess, socket, hashlib\n\
        json.load(sys.stdin)\n\
        with tempfile.NamedTemporaryFile() as file: file.write(b'x')\n\
        subprocess.run(['true'], check=True)\n\
        socket.getaddrinfo('localhost', 80)\n\
        ssl.create_default_context()\n\
        print(json.dumps({'python': True}))\n";
    let node = "const fs = require('fs'), os = require('os'), path = require('path');\n\
        JSON.parse(fs.readFileSync(0));\n\
        fs.mkdtempSync(path.join(os.tmpdir(), 'x'));\n\
        require('dns').lookup('localhost', () => console.log(JSON.stringify({node: true})));\n";
    for (command, script, wanted) in [
        (r#"["python3", "run.py"]"#, ("run.py", python.to_owned()), "python"),
        (r#"["./run.py"]"#, ("run.py", format!("#!/usr/bin/env python3\n{python}")), "python"),
        (r#"["node", "run.js"]"#, ("run.js", node.to_owned()), "node"),
    ] {
        let (is_ok, text) = call_program(command, (script.0, &script.1), empty.path());
        assert!(is_ok && text.contains(wanted), "{command}: {text}");
    }
    // A program that starts another one beside its folder, as those of version managers do.
    let manager = tempfile::tempdir().unwrap();
    let shims = manager.path().join("shims");
    let real = manager.path().join("libexec/real");
    fs::create_dir(&shims).unwrap();
    fs::create_dir(real.parent().unwrap()).unwrap();
    write_program(&real, "#!/bin/sh\nprintf '\"real\"'\n");
    write_program(&shims.join("managed"), &format!("#!/bin/sh\nexec {}\n", real.display()));
    let (is_ok, text) = call_program(r#"["managed"]"#, ("x", ""), &shims);
    assert!(is_ok && text.contains("real"), "{text}");
}

#[test]
fn processes_have_ended_when_their_call_has_timed_out() {
    let gateway = start("");
    for function in ["hang", "hang_streaming"] {
        let mark = format!("86401.{}{}", std::process::id(), function.len());
        let forks = "trap : TERM; setsid sleep MARK & (sleep MARK &); \
                     (setsid sh -c 'trap : TERM; (sleep MARK &); sleep MARK' &); sleep MARK";
        let body = body(function, &forks.replace("MARK", &mark));
        let path = "/v1/prefabs/script-prefab/execute";
        let asking = gateway.ask("POST", path, &[], body.as_bytes());
        until("all processes", || (processes(&mark) == 5).then_some(()));
        let answer = asking.answer();
        assert_eq!(processes(&mark), 0, "{function}");
        assert!(answer.text().contains("TIMED_OUT"), "{function}: {}", answer.text());
        until("the removal of its files", || {
            (fs::read_dir(gateway.data().join("work")).unwrap().count() == 0).then_some(())
        });
    }
}

/// A folder, and all files and folders below it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

fn run_by_hand(folder: &Path, arguments: &[&str]) {
    let output = by_hand(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn everything_in_the_data_folder_belongs_to_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_owned();
    source(&at);
    fs::write(at.join("note"), "a note").unwrap();
    run_by_hand(&at, &["catalog", "add", "script-prefab"]);
    // So many functions that the index of searches is stored.
    let names_of: Vec<String> = (0..1000).map(|number| format!("f{number}")).collect();
    let names_of: Vec<&str> = names_of.iter().map(String::as_str).collect();
    let many = super::manifest("many-prefab", "1.0.0", &names_of).compact();
    fs::write(at.join("many.json"), many).unwrap();
    run_by_hand(&at, &["catalog", "add", "many.json"]);
    run_by_hand(&at, &["catalog", "search", "scripts"]);
    let upstream = Upstream::start([whole("Hello.", &[]), whole("Hello.", &[])]);
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/stdio.py");
    let config = format!(
        "{}{TOOLS}[mcp.s]\ncommand = [\"python3\", \"{server}\", \"describe\", \"{}/note\"]\n",
        table("up", "openai-chat", &upstream),
        at.display()
    );
    let gateway = Gateway::start_by_hand(folder, &config);
    assert_eq!(copy(&gateway), b"hello");
    gateway.post(CHAT, &[], question(false, "").as_bytes()).ok();
    let stored = br#"{"model": "up/gpt-x", "input": "Hello", "store": true}"#;
    gateway.post("/v1/responses", &[], stored).ok();
    assert!(names(&gateway).contains(&"s_pay".to_owned()));
    let plan = r#"{"plan":{"plan":"1","steps":{"read":{"tool":"read_file","args":{"path":"note"}},
        "write":{"tool":"write_file","args":{"path":"copy","content":{"$from":"read"}}}}},"wait":true}"#;
    gateway.post("/v1/plans", &[], plan.as_bytes()).ok();
    let data = gateway.data();
    let asking = gateway.ask(
        "POST",
        "/v1/prefabs/script-prefab/execute",
        &[],
        body("hang", "mkdir -p new/er; echo x > new/er/file; echo x > $TMPDIR/last; sleep 100")
            .as_bytes(),
    );
    let expected = [
        "catalog-search.bin",
        "catalog.sqlite-wal",
        "catalog/script-prefab/1.0.0/run.sh",
        "files.sqlite-shm",
        "ledger.head",
        "mcp-pins/s.json",
        "plans.sqlite",
        "signing.key",
        "store.sqlite",
        "journal.sqlite",
    ];
    for name in expected {
        until(name, || data.join(name).exists().then_some(()));
    }
    until("the files of the call", || {
        let found = files_below(&data.join("work"));
        found.iter().any(|path| path.ends_with("tmp/last")).then_some(())
    });
    let found = files_below(&data);
    // A temporary file may be gone by now.
    let modes =
        found.iter().filter_map(|path| Some((path, fs::metadata(path).ok()?.permissions().mode())));
    let shared: Vec<String> = modes
        .filter(|(_, mode)| mode & 0o077 != 0)
        .map(|(path, mode)| format!("{mode:o} {}", path.display()))
        .collect();
    assert_eq!(shared, Vec::<String>::new());
    drop(asking);
}
