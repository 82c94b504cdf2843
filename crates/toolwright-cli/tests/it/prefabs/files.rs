//! `/internal/files`: uploads, links, lists and limits.

use std::io::{Read, Write};
use std::net::TcpStream;

use toolwright_core::{Json, object};

use super::{client, detail, token};
use crate::gateway::{Answer, Gateway, HANG, items_at, text_at};
use crate::telemetry::openapi::schema;

/// A form with a file and other fields.
fn form(filename: &str, content: &[u8], fields: &[(&str, &str)]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, value) in fields {
        write!(form, "--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
            .unwrap();
    }
    write!(
        form,
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\
         Content-Type: text/html\r\n\r\n"
    )
    .unwrap();
    form.extend_from_slice(content);
    form.extend_from_slice(b"\r\n--x--\r\n");
    form
}

const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=x");

fn upload(gateway: &Gateway, token: &str, path: &str, form: &[u8]) -> Answer {
    gateway.post(path, &[FORM, ("x-internal-token", token)], form)
}

/// The path and query of a link to the gateway.
fn path_of(gateway: &Gateway, link: &str) -> String {
    let base = format!("http://{}", gateway.address);
    link.strip_prefix(&base).unwrap_or_else(|| panic!("{link}")).to_owned()
}

/// The link to download a file.
fn link(gateway: &Gateway, token: &str, url: &str) -> Answer {
    let path = format!("/internal/files/download?s3_url={url}&mode=presigned&expires_in=60");
    gateway.get(&path, &[("x-internal-token", token)])
}

#[test]
fn a_file_goes_to_a_link_and_comes_back_from_another() {
    let gateway = Gateway::start(&client("alice", ""));
    let token = token(&gateway, "alice");
    let headers = [("x-internal-token", token.as_str())];
    let body = r#"{"filename": "报告.pdf", "content_type": "application/pdf"}"#;
    let answer = gateway.post("/internal/files/generate_upload_url", &headers, body.as_bytes());
    let document = answer.ok().json();
    let (upload_url, url) = (text_at(&document, "/upload_url"), text_at(&document, "/s3_url"));
    assert!(schema("FileUrl").accepts(&Json::from(url.as_str())), "{url}");
    assert_eq!(link(&gateway, &token, &url).status, 404, "it has no bytes yet");
    let target = path_of(&gateway, &upload_url);
    // No token: the link is enough.
    let answer = gateway.ask("PUT", &target, &[], b"%PDF-1.7").answer();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    let answer = gateway.ask("PUT", &target.replace("pdf", "exe"), &[], b"x").answer();
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(gateway.get(&target, &[]).status, 403, "it does not allow to read");
    let presigned = text_at(&link(&gateway, &token, &url).ok().json(), "/presigned_url");
    let target = path_of(&gateway, &presigned);
    let answer = gateway.get(&target, &[]).ok();
    assert_eq!(answer.body, b"%PDF-1.7");
    assert_eq!(answer.header("content-type"), Some("application/pdf"));
    let disposition = "attachment; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf";
    assert_eq!(answer.header("content-disposition"), Some(disposition));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let head = gateway.ask("HEAD", &target, &[], b"").answer();
    assert_eq!((head.status, head.header("content-length")), (200, Some("8")));
    let expired = target.replace("expires=", "expires=1");
    let answer = gateway.get(&expired, &[]);
    assert_eq!(answer.status, 403);
    assert!(detail(&answer).contains("signature"), "{}", answer.text());
}

#[test]
fn uploads_are_listed_for_their_tenant_and_cleaned_up_by_session() {
    let config = client("alice", "") + &client("bob", "") + &client("carol", "tenant = \"alice\"");
    let gateway = Gateway::start(&config);
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| token(&gateway, name));
    let (check, list_check) = (schema("UploadedFile"), schema("FileList"));
    let mut urls = Vec::new();
    for number in 0..3 {
        let name = format!("../{number}.html");
        let answer = upload(&gateway, &alice, "/internal/files/upload", &form(&name, b"hi", &[]));
        let document = answer.ok().json();
        assert_eq!(check.violations(&document), []);
        assert_eq!(text_at(&document, "/filename"), format!("{number}.html"));
        urls.push(text_at(&document, "/s3_url"));
    }
    let fields = [("ttl", "3600"), ("session_id", "s 1")];
    let temp = upload(
        &gateway,
        &alice,
        "/internal/files/upload_temp",
        &form("t.txt", b"temporary", &fields),
    );
    let temp = text_at(&temp.ok().json(), "/s3_url");
    let list = |token: &str, query: &str| {
        let path = format!("/internal/files/{query}");
        let document = gateway.get(&path, &[("x-internal-token", token)]).ok().json();
        assert_eq!(list_check.violations(&document), []);
        let files = items_at(&document, "/files");
        let files: Vec<String> = files.iter().map(|own| text_at(own, "/s3_url")).collect();
        (files, document.get("next_token").and_then(Json::as_str).map(str::to_owned))
    };
    let (first, next) = list(&alice, "list?limit=2");
    let (second, end) = list(&alice, &format!("list?limit=2&continuation_token={}", next.unwrap()));
    assert_eq!([first, second].concat(), urls);
    assert_eq!(end, None);
    assert_eq!(list(&carol, "list").0, urls, "of the same tenant");
    assert_eq!(list(&bob, "list").0, Vec::<String>::new());
    assert_eq!(list(&alice, "list_temp?session_id=s+1").0, [temp]);
    assert_eq!(list(&alice, "list_temp?session_id=other").0, Vec::<String>::new());
    // To another tenant the file does not exist.
    let answer = link(&gateway, &bob, &urls[0]);
    assert_eq!((answer.status, detail(&answer).as_str()), (404, "File not found"));
    let clean = |token: &str| {
        let path = "/internal/files/cleanup_temp?session_id=s%201";
        gateway.ask("DELETE", path, &[("x-internal-token", token)], b"").answer().ok().json()
    };
    let deleted = |count: u64| Json::Object(object! {"deleted_count": count});
    assert_eq!(clean(&bob), deleted(0));
    assert_eq!(clean(&alice), deleted(1));
    assert_eq!(list(&alice, "list_temp").0, Vec::<String>::new());
    // No reply and no link names a path of the machine.
    let data = gateway.data().to_string_lossy().into_owned();
    let presigned = link(&gateway, &alice, &urls[0]).ok();
    assert!(!presigned.text().contains(&data), "{}", presigned.text());
}

#[test]
fn a_large_file_is_never_in_memory() {
    let limits = "[catalog]\nmax_file = \"64MB\"\n[limits]\nbody = \"1MB\"\nmemory = \"20MB\"\n";
    let gateway = Gateway::start(limits);
    gateway.get("/internal/files/list", &[]).ok();
    let before = gateway.peak_memory();
    let content = vec![b'x'; 60 << 20];
    let form = form("big.bin", &content, &[]);
    let answer = gateway.post("/internal/files/upload", &[FORM], &form).ok();
    let url = text_at(&answer.json(), "/s3_url");
    let answer = gateway.get(&format!("/internal/files/download?s3_url={url}"), &[]).ok();
    let target = path_of(&gateway, &text_at(&answer.json(), "/presigned_url"));
    assert_eq!(gateway.get(&target, &[]).ok().body, content);
    let grown = gateway.peak_memory() - before;
    assert!(grown < 16 << 20, "{grown} bytes more");
    let form = self::form("huge.bin", &vec![b'x'; 65 << 20], &[]);
    let answer = gateway.post("/internal/files/upload", &[FORM], &form);
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[test]
fn the_quota_of_a_tenant_is_an_error_with_numbers() {
    let gateway = Gateway::start("[catalog]\nmax_storage = 1000\n");
    let answer = gateway.post("/internal/files/upload", &[FORM], &form("a", &[0; 900], &[]));
    answer.ok();
    let answer = gateway.post("/internal/files/upload", &[FORM], &form("b", &[0; 200], &[]));
    assert_eq!(answer.status, 429);
    let document = answer.json();
    assert_eq!(schema("Detail").violations(&document), []);
    let detail = document.get("detail").unwrap();
    assert_eq!(text_at(detail, "/quota_type"), "storage_bytes");
    assert_eq!(detail.get("limit"), Some(&Json::from(1000)));
    assert_eq!(detail.get("used"), Some(&Json::from(900)));
}

#[test]
fn an_invalid_request_names_the_parameter() {
    let gateway = Gateway::start("");
    let check = schema("Detail");
    for (path, body, name) in [
        ("/internal/files/generate_upload_url", "{}", "filename"),
        ("/internal/files/generate_upload_url", r#"{"filename": 1}"#, "filename"),
        ("/internal/files/generate_upload_url", "[]", "JSON object"),
        ("/internal/files/generate_upload_url", "{", "valid JSON"),
        (
            "/internal/files/generate_upload_url",
            r#"{"filename": "a", "content_type": "a\nb"}"#,
            "content type",
        ),
        ("/internal/files/upload", "{}", "multipart/form-data"),
    ] {
        let answer = gateway.post(path, &[], body.as_bytes());
        assert_eq!(answer.status, 422, "{path} {body} {}", answer.text());
        assert_eq!(check.violations(&answer.json()), []);
        assert!(detail(&answer).contains(name), "{name}: {}", answer.text());
    }
    for (fields, name) in [
        (&[("ttl", "0")][..], "ttl"),
        (&[("ttl", "1e9")], "ttl"),
        (&[("session_id", &"s".repeat(300))], "session_id"),
        (&[("other", &"s".repeat(5000))], "other"),
    ] {
        let form = form("a", b"x", fields);
        let answer = gateway.post("/internal/files/upload_temp", &[FORM], &form);
        assert_eq!(answer.status, 422, "{fields:?}");
        assert!(detail(&answer).contains(name), "{name}: {}", answer.text());
    }
    let answer = gateway.post("/internal/files/upload", &[FORM], b"--x--");
    assert!(detail(&answer).contains("`file` is required"), "{}", answer.text());
    for (path, name) in [
        ("list?limit=0", "limit"),
        ("list?limit=", "limit"),
        ("list?limit=1001", "limit"),
        ("list?continuation_token=x", "continuation_token"),
        ("download", "s3_url"),
        ("download?s3_url=x&mode=stream", "mode"),
        ("download?s3_url=x&expires_in=0", "expires_in"),
    ] {
        let answer = gateway.get(&format!("/internal/files/{path}"), &[]);
        assert_eq!(answer.status, 422, "{path}");
        assert!(detail(&answer).contains(name), "{name}: {}", answer.text());
    }
    for url in ["x", "s3://toolwright/../../signing.key", "file:///etc/passwd"] {
        let answer = gateway.get(&format!("/internal/files/download?s3_url={url}"), &[]);
        assert_eq!((answer.status, detail(&answer).as_str()), (404, "File not found"));
    }
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let gateway = Gateway::start("");
    gateway.get("/internal/files/list", &[]).ok();
    let form = form("a", &vec![0; 100_000], &[]);
    let mut socket = TcpStream::connect(gateway.address).unwrap();
    socket.set_read_timeout(Some(HANG)).unwrap();
    write!(
        socket,
        "POST /internal/files/upload HTTP/1.1\r\nhost: {}\r\ncontent-type: {}\r\ncontent-length: \
         {}\r\n\r\n",
        gateway.address,
        FORM.1,
        form.len()
    )
    .unwrap();
    socket.write_all(&form[..form.len() / 2]).unwrap();
    let incoming = gateway.data().join("files/incoming");
    let count = || std::fs::read_dir(&incoming).unwrap().count();
    crate::gateway::until("the upload to begin", || (count() == 1).then_some(()));
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let _read = socket.read(&mut [0; 100]);
    drop(socket);
    crate::gateway::until("the upload to end", || (count() == 0).then_some(()));
    let document = gateway.get("/internal/files/list", &[]).ok().json();
    assert_eq!(items_at(&document, "/files"), Vec::<Json>::new());
}
