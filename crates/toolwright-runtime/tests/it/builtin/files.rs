//! Files: what the tools do, and that no path leaves the root.

use toolwright_runtime::call::Completeness;

use super::{Bench, handle_in, link, numbered, strings};

#[tokio::test]
async fn files_are_listed_in_order() {
    let bench = Bench::new();
    bench.put("b.txt", "bb");
    bench.put("文件/a.txt", "a");
    bench.put("文件/deep/c.txt", "");
    let top = bench.json("list_files", r#"{"path":""}"#).await;
    assert_eq!(strings(top.get("entries").unwrap(), "path"), ["b.txt", "文件"]);
    assert_eq!(strings(top.get("entries").unwrap(), "kind"), ["file", "folder"]);
    assert_eq!(top.pointer("/entries/0/size").unwrap().as_u64(), Some(2));
    let all = bench.json("list_files", r#"{"path":"./文件/","depth":9}"#).await;
    assert_eq!(
        strings(all.get("entries").unwrap(), "path"),
        ["文件/a.txt", "文件/deep", "文件/deep/c.txt"]
    );
    bench.refused("list_files", r#"{"path":"nowhere"}"#, "\"nowhere\" does not exist").await;
    bench.refused("list_files", r#"{"path":"b.txt"}"#, "is not a folder").await;
}

#[tokio::test]
async fn a_huge_folder_is_bounded() {
    let bench = Bench::new();
    for number in 0..1500 {
        bench.put(&format!("many/{number:04}.txt"), "");
        std::fs::create_dir(bench.root().join(format!("folder-{number}"))).unwrap();
    }
    let listed = bench.json("list_files", r#"{"path":"many"}"#).await;
    assert_eq!(listed.get("entries").unwrap().as_array().unwrap().len(), 200);
    assert_eq!(listed.get("more").unwrap().as_bool(), Some(true));
    // More folders than a process may have open.
    let text = bench.call("list_files", r#"{"depth":20,"limit":1000}"#).await.unwrap();
    assert!(text.len() < 16_384, "{}", text.len());
    handle_in(&text);
}

#[tokio::test]
async fn a_file_is_read_whole_or_in_part() {
    let bench = Bench::new();
    bench.put("a.txt", "一\n二\r\n三");
    let read = |arguments: &'static str| bench.call("read_file", arguments);
    assert_eq!(read(r#"{"path":"a.txt"}"#).await.unwrap(), "一\n二\r\n三");
    assert_eq!(read(r#"{"path":"a.txt","first_line":2,"lines":1}"#).await.unwrap(), "二\r\n");
    assert_eq!(read(r#"{"path":"a.txt","first_line":3}"#).await.unwrap(), "三");
    assert_eq!(read(r#"{"path":"a.txt","lines":2}"#).await.unwrap(), "一\n二\r\n");
    let beyond = read(r#"{"path":"a.txt","first_line":9}"#).await.unwrap_err();
    assert!(beyond.contains("ends at line 3"), "{beyond}");
    bench.put("empty", "");
    assert_eq!(read(r#"{"path":"empty"}"#).await.unwrap(), "[The file is empty.]");
}

#[tokio::test]
async fn lines_are_found_across_pieces_of_a_large_file() {
    let bench = Bench::new();
    let text = numbered(400_000);
    bench.put("large.txt", &text);
    let found = bench.call("read_file", r#"{"path":"large.txt","first_line":399999,"lines":1}"#);
    assert_eq!(found.await.unwrap(), "第 399999 行\n");
    bench.put("huge.txt", vec![b'x'; 9 << 20]);
    bench.refused("read_file", r#"{"path":"huge.txt"}"#, "Pass first_line and lines").await;
    bench.refused("read_file", r#"{"path":"huge.txt","lines":1}"#, "Pass first_line").await;
}

#[tokio::test]
async fn bytes_that_are_not_text_become_a_handle() {
    let bench = Bench::new();
    bench.put("图.png", b"\x89PNG\xff\xfe\x00");
    let text = bench.call("read_file", r#"{"path":"图.png"}"#).await.unwrap();
    assert!(text.starts_with("7 bytes of image/png, kept"), "{text}");
    handle_in(&text);
    bench.refused("read_file", r#"{"path":"图.png","first_line":1,"lines":1}"#, "not UTF-8").await;
}

#[tokio::test]
async fn a_file_is_written_by_its_mode() {
    let bench = Bench::new();
    let content = |path: &str| std::fs::read_to_string(bench.root().join(path)).unwrap();
    let wrote = bench.call("write_file", r#"{"path":"新/a.txt","content":"你好"}"#).await.unwrap();
    assert_eq!(wrote, "Wrote 6 bytes to 新/a.txt.");
    let again = r#"{"path":"新/a.txt","content":"x"}"#;
    bench.refused("write_file", again, "exists already").await;
    assert_eq!(content("新/a.txt"), "你好");
    let more = r#"{"path":"新/a.txt","content":"！","mode":"append"}"#;
    bench.call("write_file", more).await.unwrap();
    assert_eq!(content("新/a.txt"), "你好！");
    let other = r#"{"path":"新/a.txt","content":{"id":12345678901234567890123},"mode":"replace"}"#;
    bench.call("write_file", other).await.unwrap();
    assert_eq!(content("新/a.txt"), r#"{"id":12345678901234567890123}"#);
    bench.call("write_file", r#"{"path":"b","content":"b","mode":"replace"}"#).await.unwrap();
    bench.call("write_file", r#"{"path":"c","content":"c","mode":"append"}"#).await.unwrap();
    assert_eq!((content("b").as_str(), content("c").as_str()), ("b", "c"));
    // No temporary file is left.
    let left: Vec<_> = std::fs::read_dir(bench.root().join("新")).unwrap().collect();
    assert_eq!(left.len(), 1);
    bench.refused("write_file", r#"{"path":"新","content":"","mode":"replace"}"#, "folder").await;
    bench.refused("write_file", r#"{"path":".","content":""}"#, "folder").await;
}

#[tokio::test]
async fn a_file_can_be_written_from_a_handle() {
    let bench = Bench::new();
    let long = numbered(9999);
    bench.put("long.txt", &long);
    let text = bench.call("read_file", r#"{"path":"long.txt"}"#).await.unwrap();
    assert!(text.len() < 1100, "{text}");
    let arguments = format!(r#"{{"path":"copy.txt","content":"{}"}}"#, handle_in(&text));
    bench.call("write_file", &arguments).await.unwrap();
    assert_eq!(std::fs::read_to_string(bench.root().join("copy.txt")).unwrap(), long);
}

#[cfg(unix)]
#[tokio::test]
async fn replacing_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.put("run.sh", "old");
    let path = bench.root().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let arguments = r#"{"path":"run.sh","content":"new","mode":"replace"}"#;
    bench.call("write_file", arguments).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn text_is_found() {
    let bench = Bench::new();
    bench.put("a.rs", "fn main() {}\n// 主函数 MAIN\n");
    bench.put("src/b.rs", "mod main;\n");
    bench.put("src/c.bin", b"main\xff");
    bench.put(".git/config", "main");
    let found = bench.json("search_files", r#"{"text":"main"}"#).await;
    assert_eq!(strings(found.get("matches").unwrap(), "path"), ["a.rs", "src/b.rs"]);
    let found = bench.json("search_files", r#"{"text":"主函数 main","ignore_case":true}"#).await;
    assert_eq!(found.pointer("/matches/0/line").unwrap().as_u64(), Some(2));
    let found = bench.json("search_files", r#"{"text":"main","limit":1}"#).await;
    assert_eq!(found.get("more").unwrap().as_bool(), Some(true));
}

/// Every tool that takes a path, with this path.
fn with_path(path: &str) -> Vec<(&'static str, String)> {
    let path = toolwright_core::Json::from(path).compact();
    vec![
        ("list_files", format!(r#"{{"path":{path}}}"#)),
        ("read_file", format!(r#"{{"path":{path}}}"#)),
        ("write_file", format!(r#"{{"path":{path},"content":"x"}}"#)),
        ("write_file", format!(r#"{{"path":{path},"content":"x","mode":"replace"}}"#)),
        ("write_file", format!(r#"{{"path":{path},"content":"x","mode":"append"}}"#)),
        ("search_files", format!(r#"{{"path":{path},"text":"secret"}}"#)),
        ("read_csv", format!(r#"{{"path":{path}}}"#)),
    ]
}

#[tokio::test]
async fn no_argument_leads_out_of_the_root() {
    let bench = Bench::new();
    std::fs::write(bench.dir.path().join("secret.txt"), "secret").unwrap();
    bench.put("in/a.txt", "a");
    let absolute = bench.dir.path().join("secret.txt").to_string_lossy().into_owned();
    let outside =
        ["..", "../secret.txt", "in/../../secret.txt", "in/../in/a.txt", "/", "/etc/passwd", "//"];
    for path in outside {
        for (tool, arguments) in with_path(path) {
            bench.refused(tool, &arguments, "leaves the root").await;
        }
    }
    // Messages contain the requested path, but not the path of the root.
    for (tool, arguments) in with_path(&absolute) {
        let call =
            toolwright_core::Call::new("x", tool, toolwright_core::Arguments::from_text(arguments));
        let called = bench.toolbox.call_with(&bench.session, &call, Completeness::Complete).await;
        assert!(called.result().unwrap().error.is_some());
    }
    let long_name = "长".repeat(200);
    let long_path = "a/".repeat(5000);
    bench.refused("read_file", r#"{"path":""}"#, "cannot be the name of a file").await;
    for path in ["a\0b", "\0", &long_name, &long_path] {
        for (tool, arguments) in with_path(path) {
            bench.refused(tool, &arguments, "cannot be the name of a file").await;
        }
    }
    for path in [".git", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/config", ".git./x"] {
        for (tool, arguments) in with_path(path) {
            bench.refused(tool, &arguments, "belongs to git").await;
        }
    }
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("secret.txt")).unwrap(), "secret");
    assert!(!bench.root().join(".git").exists());
}

#[tokio::test]
async fn unusual_file_names_work() {
    let bench = Bench::new();
    for name in ["-rf", "~", "$HOME", "a b", "a;b", "\u{202e}txt", "..a", "a\\..\\b", "*", "#"] {
        let name = toolwright_core::Json::from(name).compact();
        let arguments = format!(r#"{{"path":{name},"content":"here"}}"#);
        bench.call("write_file", &arguments).await.unwrap();
        let read = bench.call("read_file", &format!(r#"{{"path":{name}}}"#)).await;
        assert_eq!(read.unwrap(), "here", "{name}");
    }
    assert_eq!(std::fs::read_dir(bench.root()).unwrap().count(), 10);
    assert_eq!(std::fs::read_dir(bench.dir.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    let bench = Bench::new();
    let outside = bench.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "secret").unwrap();
    bench.put("in/a.txt", "a");
    link(outside.join("secret.txt"), bench.root().join("file"));
    link(&outside, bench.root().join("folder"));
    link(outside.join("nothing"), bench.root().join("dangling"));
    link("in", bench.root().join("inner"));
    link("loop", bench.root().join("loop"));
    link("../outside", bench.root().join("in/up"));
    let paths = [
        "file",
        "folder",
        "folder/secret.txt",
        "folder/new.txt",
        "dangling",
        "inner/a.txt",
        "loop",
        "in/up/secret.txt",
    ];
    for path in paths {
        for (tool, arguments) in with_path(path) {
            bench.refused(tool, &arguments, "links are not followed").await;
        }
    }
    // Listing and searching skip them.
    let listed = bench.json("list_files", r#"{"depth":20}"#).await;
    let kinds = strings(listed.get("entries").unwrap(), "kind");
    assert_eq!(kinds.iter().filter(|kind| **kind == "link").count(), 6);
    let found = bench.json("search_files", r#"{"text":"secret"}"#).await;
    assert_eq!(found.get("matches").unwrap().as_array().unwrap().len(), 0);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret");
}

/// A link that is swapped between check and use has no effect.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn swapping_links_does_not_lead_out_of_the_root() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let bench = Bench::new();
    let outside = bench.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a.txt"), "secret").unwrap();
    bench.put("real/a.txt", "fine");
    let (root, done) = (bench.root(), std::sync::Arc::new(AtomicBool::new(false)));
    let swapping = std::thread::spawn({
        let done = done.clone();
        move || {
            while !done.load(Ordering::Relaxed) {
                link("../outside", root.join("swap"));
                std::fs::remove_file(root.join("swap")).unwrap();
                std::fs::rename(root.join("real"), root.join("swap")).unwrap();
                std::fs::rename(root.join("swap"), root.join("real")).unwrap();
            }
        }
    });
    for _ in 0..300 {
        if let Ok(text) = bench.call("read_file", r#"{"path":"swap/a.txt"}"#).await {
            assert_eq!(text, "fine");
        }
        let arguments = r#"{"path":"swap/a.txt","content":"fine","mode":"replace"}"#;
        let _ = bench.call("write_file", arguments).await;
    }
    done.store(true, Ordering::Relaxed);
    // It may fail if a folder was created at its path, which is harmless.
    let _ = swapping.join();
    assert_eq!(std::fs::read_to_string(outside.join("a.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_and_sockets_are_not_opened() {
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.root().join("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.root().join("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for tool in ["read_file", "read_csv"] {
            let arguments = format!(r#"{{"path":"{path}"}}"#);
            bench.refused(tool, &arguments, "neither a file nor a folder").await;
        }
        for mode in ["replace", "append"] {
            let arguments = format!(r#"{{"path":"{path}","content":"x","mode":"{mode}"}}"#);
            bench.refused("write_file", &arguments, "neither a file nor a folder").await;
        }
    }
    let listed = bench.json("list_files", "{}").await;
    assert_eq!(strings(listed.get("entries").unwrap(), "kind"), ["other", "other"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_not_utf8_are_listed_and_left_alone() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.txt");
    std::fs::write(bench.root().join(name), "secret").unwrap();
    let listed = bench.json("list_files", "{}").await;
    assert_eq!(strings(listed.get("entries").unwrap(), "kind"), ["other"]);
    let found = bench.json("search_files", r#"{"text":"secret"}"#).await;
    assert_eq!(found.get("matches").unwrap().as_array().unwrap().len(), 0);
}
