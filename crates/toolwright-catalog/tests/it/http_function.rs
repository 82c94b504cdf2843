//! Functions that run as HTTP requests: what a server receives, and what comes of its answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use toolwright_catalog::binding::Binding;
use toolwright_catalog::runtime::http::{HttpCall, HttpRuntime, InputFile, MISSING_SECRET};
use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::{Content, Piece};
use toolwright_runtime::{Context, ToolError};
use toolwright_transport::secret::SecretString;
use toolwright_transport::{AddressPolicy, HttpClient};

use toolwright_testing::server::{Server, read_request};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn object(text: &str) -> Object {
    json(text).as_object().unwrap().clone()
}

fn runtime() -> HttpRuntime {
    let policy = AddressPolicy::public().with_allowed("127.0.0.1").unwrap();
    HttpRuntime::new(HttpClient::new("the API").unwrap().with_policy(policy))
}

fn secret(name: &str) -> Option<SecretString> {
    (!name.starts_with("missing")).then(|| SecretString::from(format!("hush {name}").as_str()))
}

async fn call(
    base_url: &str,
    binding: Option<&str>,
    arguments: &str,
    files: &[InputFile],
) -> ToolResult {
    let binding = binding.map(|text| Binding::parse(&json(text)).unwrap());
    let call = HttpCall {
        base_url,
        headers: &[("x-prefab".to_owned(), "yes".to_owned())],
        function: "look up",
        binding: binding.as_ref(),
        arguments: &object(arguments),
        files,
        secrets: &secret,
        filled: &[],
        context: &Context::default(),
    };
    runtime().call(call).await
}

/// The head and the body of the request that a server receives.
async fn received(binding: &str, arguments: &str, files: &[InputFile]) -> (String, String) {
    let (server, mut requests) = Server::recording().await;
    let answer = call(&server.url(), Some(binding), arguments, files).await;
    let _ = answer.unwrap_or_else(|error| panic!("{error:?}: {binding} {arguments}"));
    let (head, body) = requests.recv().await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn target(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Case 37. The table of "Style Examples" of OpenAPI 3.1.2: one row for each style, with and without `explode`.
const STYLES: [(&str, &str, bool, &str, &str, &str); 13] = [
    ("path", "matrix", false, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    (
        "path",
        "matrix",
        true,
        ";color=blue",
        ";color=blue;color=black;color=brown",
        ";R=100;G=200;B=150",
    ),
    ("path", "label", false, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("path", "label", true, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    ("path", "simple", false, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("path", "simple", true, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("query", "form", false, "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    (
        "query",
        "form",
        true,
        "color=blue",
        "color=blue&color=black&color=brown",
        "R=100&G=200&B=150",
    ),
    (
        "query",
        "spaceDelimited",
        false,
        "",
        "color=blue%20black%20brown",
        "color=R%20100%20G%20200%20B%20150",
    ),
    (
        "query",
        "pipeDelimited",
        false,
        "",
        "color=blue%7Cblack%7Cbrown",
        "color=R%7C100%7CG%7C200%7CB%7C150",
    ),
    ("query", "deepObject", true, "", "", "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("header", "simple", false, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("header", "simple", true, "blue", "blue,black,brown", "R=100,G=200,B=150"),
];

#[tokio::test]
async fn a_server_receives_every_style_of_the_specification() {
    for (place, style, explode, text, array, members) in STYLES {
        let values = [r#""blue""#, r#"["blue","black","brown"]"#, r#"{"R":100,"G":200,"B":150}"#];
        for (value, expected) in values.into_iter().zip([text, array, members]) {
            if expected.is_empty() {
                continue;
            }
            let path = if place == "path" { "/x/{color}/y" } else { "/x" };
            let binding = format!(
                r#"{{"method":"GET","path":"{path}","parameters":
                [{{"name":"color","in":"{place}","style":"{style}","explode":{explode}}}]}}"#
            );
            let (head, _) = received(&binding, &format!("{{\"color\":{value}}}"), &[]).await;
            match place {
                "path" => assert_eq!(target(&head), format!("/x/{expected}/y")),
                "query" => assert_eq!(target(&head), format!("/x?{expected}")),
                _ => assert_eq!(header(&head, "color"), Some(expected)),
            }
        }
    }
}

/// Case 37. Default styles, names that differ from the arguments, escapes, absent values and JSON in parameters.
#[tokio::test]
async fn a_server_receives_parameters_of_every_place() {
    let binding = r#"{"method":"DELETE","path":"/a/{id}/b?fixed=1","parameters":[
        {"name":"id","in":"path"},
        {"name":"q[x]","argument":"q","in":"query"},
        {"name":"none","in":"query"},
        {"name":"null","in":"query"},
        {"name":"empty","in":"query"},
        {"name":"deep","in":"query","style":"deepObject","explode":true},
        {"name":"at","in":"query","content_type":"application/json"},
        {"name":"raw","in":"query","allow_reserved":true},
        {"name":"X-List","argument":"list","in":"header"},
        {"name":"session","in":"cookie"},
        {"name":"ids","in":"cookie"}]}"#;
    let arguments = r#"{"id":"ä/b c?","q":"1&2=3+4","null":null,"empty":"",
        "deep":{"a":{"b":[1,{"c":true}]}},"at":{"lat":1.50,"long":[2]},
        "raw":"a/b?c=d&e#f%2Fg% ü","list":["a b","c,d"],"session":"s;1","ids":[1,2]}"#;
    let (head, body) = received(binding, arguments, &[]).await;
    assert!(head.starts_with("DELETE "), "{head}");
    assert_eq!(
        target(&head),
        "/a/%C3%A4%2Fb%20c%3F/b?fixed=1&q%5Bx%5D=1%262%3D3%2B4&empty=\
         &deep%5Ba%5D%5Bb%5D%5B0%5D=1&deep%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=true\
         &at=%7B%22lat%22%3A1.50%2C%22long%22%3A%5B2%5D%7D&raw=a/b?c%3Dd%26e%23f%2Fg%25%20%C3%BC"
    );
    assert_eq!(header(&head, "x-list"), Some("a b,c,d"));
    assert_eq!(header(&head, "cookie"), Some("session=s%3B1; ids=1; ids=2"));
    assert_eq!(header(&head, "x-prefab"), Some("yes"));
    assert_eq!((body.as_str(), header(&head, "content-type")), ("", None));
}

/// Case 37. Arrays of Swagger that are separated by tabs have no style in OpenAPI.
#[tokio::test]
async fn a_server_receives_arrays_separated_by_tabs() {
    let binding = r#"{"method":"GET","path":"/","parameters":
        [{"name":"color","in":"query","style":"tabDelimited","explode":false}]}"#;
    let (head, _) = received(binding, r#"{"color":["a","b\tc"]}"#, &[]).await;
    assert_eq!(target(&head), "/?color=a%09b%09c");
}

/// Case 37. Digits of numbers are kept.
#[tokio::test]
async fn a_server_receives_json_bodies() {
    let members = r#"{"method":"POST","path":"/","body":{"content_type":"application/json",
        "properties":[{"name":"id"},{"name":"a b","argument":"a_b"},{"name":"absent"}]}}"#;
    let arguments = r#"{"id":9007199254740993123,"a_b":[1e400,{"x":null}],"other":1}"#;
    let (head, body) = received(members, arguments, &[]).await;
    assert_eq!(body, r#"{"id":9007199254740993123,"a b":[1e400,{"x":null}]}"#);
    assert_eq!(header(&head, "content-type"), Some("application/json"));
    let whole = r#"{"method":"PATCH","path":"/","body":
        {"content_type":"application/merge-patch+json","argument":"body"}}"#;
    let (head, body) = received(whole, r#"{"body":[1,"x"]}"#, &[]).await;
    assert_eq!(body, r#"[1,"x"]"#);
    assert_eq!(header(&head, "content-type"), Some("application/merge-patch+json"));
    // A body without members is sent if it is required.
    for (required, expected) in [(true, "{}"), (false, "")] {
        let binding = members
            .replace(r#""content_type""#, &format!(r#""required":{required},"content_type""#));
        assert_eq!(received(&binding, "{}", &[]).await.1, expected);
    }
}

/// Case 37. The first body is the example of OpenAPI 3.1.2, "URL Encoded Form with JSON Values".
#[tokio::test]
async fn a_server_receives_forms() {
    let binding = r#"{"method":"POST","path":"/","body":
        {"content_type":"application/x-www-form-urlencoded","properties":[{"name":"id"},{"name":"address"}]}}"#;
    let arguments = r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","address":
        {"streetAddress":"123 Example Dr.","city":"Somewhere","state":"CA","zip":"99999+1234"}}"#;
    let (head, body) = received(binding, arguments, &[]).await;
    assert_eq!(
        body,
        "id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6&address=%7B%22streetAddress%22%3A%22123+Example+Dr.%22%2C\
         %22city%22%3A%22Somewhere%22%2C%22state%22%3A%22CA%22%2C%22zip%22%3A%2299999%2B1234%22%7D"
    );
    assert_eq!(header(&head, "content-type"), Some("application/x-www-form-urlencoded"));
    let binding = r#"{"method":"POST","path":"/","body":
        {"content_type":"application/x-www-form-urlencoded","properties":[
        {"name":"list"},{"name":"csv","explode":false},{"name":"space","style":"spaceDelimited","explode":false},
        {"name":"items","style":"deepObject","explode":true},{"name":"url","allow_reserved":true},
        {"name":"id","content_type":"application/json"}]}}"#;
    let arguments = r#"{"list":["a","b c"],"csv":["a","b,c"],"space":["x","y"],
        "items":[{"price":"p","quantity":2}],"url":"http://x/?y","id":"i"}"#;
    let (_, body) = received(binding, arguments, &[]).await;
    assert_eq!(
        body,
        "list=a&list=b+c&csv=a,b%2Cc&space=x+y&items%5B0%5D%5Bprice%5D=p&items%5B0%5D%5Bquantity%5D=2\
         &url=http://x/?y&id=%22i%22"
    );
}

fn file(key: &str, name: &str, content_type: &str, bytes: &'static str) -> InputFile {
    InputFile {
        key: key.to_owned(),
        name: name.to_owned(),
        content_type: content_type.to_owned(),
        bytes: Bytes::from_static(bytes.as_bytes()),
    }
}

/// Case 37.
#[tokio::test]
async fn a_server_receives_multipart_forms() {
    let binding = r#"{"method":"POST","path":"/","body":{"content_type":"multipart/form-data","properties":[
        {"name":"id"},{"name":"address"},{"name":"tags"},{"name":"xml","content_type":"application/xml"},
        {"name":"file","file":"upload"},{"name":"photo","file":"photo","content_type":"image/png"},
        {"name":"csv","style":"form","explode":false}]}}"#;
    let arguments =
        r#"{"id":7,"address":{"city":"Zürich"},"tags":["a","b c"],"xml":"<a/>","csv":["1","2 3"]}"#;
    let files = [
        file("upload", "a\"\r\nb.txt", "text/plain", "line 1\r\nline 2"),
        file("upload", "c.bin", "application/octet-stream", ""),
        file("photo", "p.png", "application/octet-stream", "png"),
    ];
    let (head, body) = received(binding, arguments, &files).await;
    let content_type = header(&head, "content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = "\
        --B\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n7\r\n\
        --B\r\nContent-Disposition: form-data; name=\"address\"\r\nContent-Type: application/json\r\n\r\n{\"city\":\"Zürich\"}\r\n\
        --B\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\na\r\n\
        --B\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\nb c\r\n\
        --B\r\nContent-Disposition: form-data; name=\"xml\"\r\nContent-Type: application/xml\r\n\r\n<a/>\r\n\
        --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22%0D%0Ab.txt\"\r\nContent-Type: text/plain\r\n\r\nline 1\r\nline 2\r\n\
        --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"c.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
        --B\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\npng\r\n\
        --B\r\nContent-Disposition: form-data; name=\"csv\"\r\n\r\n1,2 3\r\n\
        --B--\r\n";
    assert_eq!(body.replace(boundary, "B"), expected);
    assert!(!expected.contains(boundary));
}

/// Case 37.
#[tokio::test]
async fn a_server_receives_text_and_files() {
    let text =
        r#"{"method":"POST","path":"/","body":{"content_type":"text/plain","argument":"body"}}"#;
    let (head, body) = received(text, r#"{"body":"ä\nb"}"#, &[]).await;
    assert_eq!((body.as_str(), header(&head, "content-type")), ("ä\nb", Some("text/plain")));
    let binding = r#"{"method":"PUT","path":"/","body":{"content_type":"image/*","file":"photo"}}"#;
    let (head, body) = received(binding, "{}", &[file("photo", "p", "image/png", "png")]).await;
    assert_eq!((body.as_str(), header(&head, "content-type")), ("png", Some("image/png")));
    let binding = binding.replace("image/*", "application/octet-stream");
    let (head, _) = received(&binding, "{}", &[file("photo", "p", "image/png", "png")]).await;
    assert_eq!(header(&head, "content-type"), Some("application/octet-stream"));
}

#[tokio::test]
async fn a_function_without_a_binding_is_a_post_of_its_arguments() {
    let (server, mut requests) = Server::recording().await;
    let answer = call(&(server.url() + "/base/"), None, r#"{"a":[1]}"#, &[]).await.unwrap();
    assert_eq!(answer.pieces, [Content::json(json(r#"{"fine":true}"#)).into()]);
    let (head, body) = requests.recv().await.unwrap();
    assert!(head.starts_with("POST /base/look%20up HTTP/1.1\r\n"), "{head}");
    assert_eq!(
        (header(&head, "content-type"), &body[..]),
        (Some("application/json"), &br#"{"a":[1]}"#[..])
    );
}

#[tokio::test]
async fn values_that_change_the_path_are_refused() {
    let (server, mut requests) = Server::recording().await;
    let binding = r#"{"method":"GET","path":"/a/{id}","parameters":[{"name":"id","in":"path"}]}"#;
    for arguments in [r#"{"id":".."}"#, r#"{"id":"."}"#, r#"{"id":""}"#, r#"{"id":[]}"#, "{}"] {
        let error = call(&server.url(), Some(binding), arguments, &[]).await.unwrap_err();
        assert_eq!(error.kind, "InvalidArguments", "{arguments}");
    }
    let header = r#"{"method":"GET","path":"/","parameters":[{"name":"x","in":"header"}]}"#;
    let error = call(&server.url(), Some(header), r#"{"x":"a\r\nb: c"}"#, &[]).await.unwrap_err();
    assert_eq!(error.message, "`x` has characters that no header can have");
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_binding_is_checked_as_a_whole() {
    for (binding, pointer) in [
        (r#"{"method":"TRACE","path":"/"}"#, "/method"),
        (r#"{"method":"GET","path":"x"}"#, "/path"),
        (r#"{"method":"GET","path":"/{id}"}"#, "/path"),
        (
            r#"{"method":"GET","path":"/","parameters":[{"name":"id","in":"path"}]}"#,
            "/parameters/0/name",
        ),
        (
            r#"{"method":"GET","path":"/","parameters":[{"name":"Host","in":"header"}]}"#,
            "/parameters/0/name",
        ),
        (r#"{"method":"GET","path":"/","parameters":[{"name":"id"}]}"#, "/parameters/0/in"),
        (
            r#"{"method":"GET","path":"/","parameters":[{"name":"id","in":"query","styl":"form"}]}"#,
            "/parameters/0/styl",
        ),
        (
            r#"{"method":"GET","path":"/","body":{"content_type":"a/b","argument":"x","file":"y"}}"#,
            "/body",
        ),
        (r#"{"method":"GET","path":"/","security":[[{"type":"bearer"}]]}"#, "/security/0/0/secret"),
        (
            r#"{"method":"GET","path":"/","security":[[{"type":"api_key","in":"header","name":"a b","secret":"s"}]]}"#,
            "/security/0/0/name",
        ),
    ] {
        let faults = Binding::parse(&json(binding)).unwrap_err();
        assert_eq!(faults[0].pointer, pointer, "{binding}: {faults:?}");
    }
}

#[tokio::test]
async fn credentials_are_sent_from_secrets() {
    let security = |credentials: &str| {
        format!(r#"{{"method":"GET","path":"/?a=1","security":{credentials}}}"#)
    };
    let bearer = r#"{"type":"bearer","secret":"token"}"#;
    let (head, _) = received(&security(&format!("[[{bearer}]]")), "{}", &[]).await;
    assert_eq!(header(&head, "authorization"), Some("Bearer hush token"));
    let basic = r#"[[{"type":"basic","username":"user","password":"pass"}]]"#;
    let (head, _) = received(&security(basic), "{}", &[]).await;
    let pair = BASE64_STANDARD.encode("hush user:hush pass");
    assert_eq!(header(&head, "authorization"), Some(&*format!("Basic {pair}")));
    let keys = r#"[[{"type":"api_key","in":"query","name":"k","secret":"q"},
        {"type":"api_key","in":"header","name":"X-Key","secret":"h"}]]"#;
    let (head, _) = received(&security(keys), "{}", &[]).await;
    assert_eq!((target(&head), header(&head, "x-key")), ("/?a=1&k=hush%20q", Some("hush h")));
    // The first alternative that is configured; none is required if one is empty.
    let missing = r#"{"type":"bearer","secret":"missing"}"#;
    let (head, _) = received(&security(&format!("[[],[{missing}],[{bearer}]]")), "{}", &[]).await;
    assert_eq!(header(&head, "authorization"), Some("Bearer hush token"));
    let (head, _) = received(&security(&format!("[[{missing}],[]]")), "{}", &[]).await;
    assert_eq!(header(&head, "authorization"), None);
    let (server, _requests) = Server::recording().await;
    let binding = security(&format!("[[{bearer},{missing}]]"));
    let error = call(&server.url(), Some(&binding), "{}", &[]).await.unwrap_err();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str()),
        (MISSING_SECRET, "the secret `missing` is not configured")
    );
}

async fn answered(reply: &str) -> ToolResult {
    let reply: &'static [u8] = reply.to_owned().leak().as_bytes();
    let server = Server::closing(reply).await;
    let binding =
        r#"{"method":"POST","path":"/","security":[[{"type":"bearer","secret":"token"}]]}"#;
    call(&server.url(), Some(binding), "{}", &[]).await
}

#[tokio::test]
async fn answers_are_json_text_or_bytes() {
    let reply = |content_type: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    for (content_type, body, expected) in [
        ("application/problem+json", r#"{"n":1e400}"#, Content::json(json(r#"{"n":1e400}"#))),
        ("application/json", "broken{", Content::text("broken{")),
        ("text/html; charset=utf-8", "<p>ü</p>", Content::text("<p>ü</p>")),
        ("application/json", r#"["hush token"]"#, Content::json(json(r#"["[redacted]"]"#))),
        ("application/json", "", Content::json(Json::Null)),
    ] {
        let output = answered(&reply(content_type, body)).await.unwrap();
        assert_eq!(output.pieces, [expected.into()], "{content_type} {body}");
    }
    let output = answered(&reply("image/png", "png")).await.unwrap();
    let [Piece { content: Content::Bytes(blob), .. }] = &output.pieces[..] else {
        panic!("{output:?}")
    };
    assert_eq!((blob.mime.as_str(), &blob.bytes[..]), ("image/png", &b"png"[..]));
}

#[tokio::test]
async fn an_error_has_the_status_and_the_start_of_the_answer_without_secrets() {
    let long = "x".repeat(10_000);
    let body = format!("{{\"sent\":\"Bearer hush token\",\"more\":\"{long}\"}}");
    let reply = |status: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let error = answered(&reply("404 Not Found")).await.unwrap_err();
    assert_eq!(error.kind, "HTTP_404");
    assert!(
        error.message.starts_with("the server answered 404 Not Found: {\"sent\":"),
        "{error:?}"
    );
    assert!(!error.message.contains("hush") && error.message.len() < 2_500, "{error:?}");
    // A POST is repeated only if the server did nothing.
    for (status, is_retryable) in [
        ("400 Bad Request", false),
        ("429 Too Many Requests", true),
        ("500 Internal Server Error", false),
        ("502 Bad Gateway", false),
        ("503 Service Unavailable", true),
    ] {
        assert_eq!(answered(&reply(status)).await.unwrap_err().retryable, is_retryable, "{status}");
    }
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let error = answered(moved).await.unwrap_err();
    assert_eq!(error.message, "the server answered 302 Found, a redirect that is not followed");
    let get = r#"{"method":"GET","path":"/"}"#;
    let server = Server::closing(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n").await;
    assert!(call(&server.url(), Some(get), "{}", &[]).await.unwrap_err().retryable);
    for (binding, is_repeatable) in [(Some(get), true), (None, false)] {
        let server = Server::closing(b"").await;
        let error = call(&server.url(), binding, "{}", &[]).await.unwrap_err();
        assert_eq!(error.retryable, is_repeatable, "{error:?}");
        assert_eq!(error.message.contains("try again"), is_repeatable, "{error:?}");
    }
    let error: ToolError = call("http://127.0.0.1:1", None, "{}", &[]).await.unwrap_err();
    assert!(error.retryable && error.message.contains("refused"), "{error:?}");
}

/// Case 30.
#[tokio::test]
async fn an_answer_contains_no_secret_of_the_request() {
    let filled = [SecretString::from("a hidden \"key\"")];
    let ask = async |status: &str, content_type: &str, body: &str| {
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let server = Server::closing(reply.leak().as_bytes()).await;
        let call = HttpCall {
            base_url: &server.url(),
            headers: &[],
            function: "look_up",
            binding: None,
            arguments: &Object::new(),
            files: &[],
            secrets: &secret,
            filled: &filled,
            context: &Context::default(),
        };
        runtime().call(call).await
    };
    let body = r#"{"a \u0068idden \"key\"": ["a hidden \"key\"!"]}"#;
    let output = ask("200 OK", "application/json", body).await.unwrap();
    let redacted = Content::json(json(r#"{"[redacted]": ["[redacted]!"]}"#));
    assert_eq!(output.pieces, [redacted.into()]);
    let output = ask("200 OK", "application/pdf", "a hidden \"key\"").await.unwrap();
    let [Piece { content: Content::Bytes(blob), .. }] = &output.pieces[..] else {
        panic!("{output:?}")
    };
    assert_eq!(&blob.bytes[..], b"[redacted]");
    // What is shown ends within a secret.
    for length in 2000..2050 {
        let body = format!("{}a hidden \"key\"{}", "x".repeat(length), "y".repeat(5000));
        let error = ask("400 Bad Request", "text/plain", &body).await.unwrap_err();
        assert!(!error.message.contains("hidden"), "{error:?}");
        assert!(error.message.contains("xxx") && error.message.len() < 2_500, "{error:?}");
    }
}

#[tokio::test]
async fn a_private_address_is_not_reached() {
    let (server, mut requests) = Server::recording().await;
    let url = server.url().replace("127.0.0.1", "127.0.0.2");
    let error = call(&url, None, "{}", &[]).await.unwrap_err();
    assert!(
        !error.retryable && error.message.contains("not configured by the operator"),
        "{error:?}"
    );
    assert!(requests.try_recv().is_err());
}

/// Case 35. The server issues a token for each request, and its API accepts only the last one.
#[tokio::test]
async fn an_api_receives_the_token_on_every_call_also_after_a_refresh() {
    let issued = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&issued);
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::new(move |mut stream| {
        let (issued, sender) = (Arc::clone(&count), sender.clone());
        async move {
            while let Some((head, body)) = read_request(&mut stream).await {
                let reply = if target(&head) == "/token" {
                    let body = String::from_utf8(body).unwrap();
                    assert_eq!(body, "grant_type=client_credentials&scope=read+write");
                    let basic = BASE64_STANDARD.encode("hush+id:hush+key");
                    assert_eq!(header(&head, "authorization"), Some(&*format!("Basic {basic}")));
                    let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
                    format!(r#"200 OK|{{"access_token":"token-{number}","token_type":"Bearer","expires_in":3600}}"#)
                } else {
                    let token = header(&head, "authorization").unwrap_or("none").to_owned();
                    let is_valid = token == format!("Bearer token-{}", issued.load(Ordering::SeqCst));
                    sender.send(token).unwrap();
                    if is_valid { "200 OK|{}".to_owned() } else { "401 Unauthorized|{}".to_owned() }
                };
                let (status, body) = reply.split_once('|').unwrap();
                let length = body.len();
                let reply = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let binding = format!(
        r#"{{"method":"POST","path":"/api","security":[[{{"type":"oauth2","token_url":"{}/token",
        "client_id":"id","client_secret":"key","scopes":["read","write"]}}]]}}"#,
        server.url()
    );
    let binding = Binding::parse(&json(&binding)).unwrap();
    let (runtime, arguments, base_url) = (runtime(), Object::new(), server.url());
    let call = HttpCall {
        base_url: &base_url,
        headers: &[],
        function: "f",
        binding: Some(&binding),
        arguments: &arguments,
        files: &[],
        secrets: &secret,
        filled: &[],
        context: &Context::default(),
    };
    for _ in 0..3 {
        let _ = runtime.call(call).await.unwrap();
        assert_eq!(seen.recv().await.unwrap(), "Bearer token-1");
    }
    // The server no longer accepts the token, which has not expired.
    issued.fetch_add(1, Ordering::SeqCst);
    for _ in 0..2 {
        let _ = runtime.call(call).await.unwrap();
    }
    let mut tokens = Vec::new();
    while let Ok(token) = seen.try_recv() {
        tokens.push(token);
    }
    assert_eq!(tokens, ["Bearer token-1", "Bearer token-3", "Bearer token-3"]);
}
