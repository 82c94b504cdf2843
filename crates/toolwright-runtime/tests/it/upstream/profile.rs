//! AWS keys in the files of AWS's tools, against an upstream that accepts one key.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use toolwright_core::FaultClass;
use toolwright_core::Message;
use toolwright_runtime::model::Model;
use toolwright_runtime::upstream::Remote;
use toolwright_runtime::upstream::providers::{discover, find};

use super::replay::{Replay, Reply, Seen, recorded};

fn write(folder: &Path, profile: &str, access: &str) {
    let keys = format!("aws_access_key_id = {access}\naws_secret_access_key = hush\n");
    let text = format!("[{profile}]\n{keys}aws_session_token = token-of-{access}\n");
    // Written as AWS's tools do, so that no reader sees a partial file.
    fs::write(folder.join("new"), text).unwrap();
    fs::rename(folder.join("new"), folder.join("credentials")).unwrap();
}

/// The key id that signed a request.
fn signed(seen: &Seen) -> String {
    let header = seen.header("authorization").unwrap();
    let scope = header.split_once("Credential=").unwrap().1;
    let mut words = scope.split('/');
    let key = words.next().unwrap().to_owned();
    assert_eq!(words.nth(1), Some("eu-west-1"), "{header}");
    assert_eq!(seen.header("x-amz-security-token"), Some(format!("token-of-{key}").as_str()));
    key
}

/// An upstream that accepts one key, and reports others as expired.
async fn taking(key: &'static str) -> Replay {
    Replay::by(move |_, seen| {
        if signed(seen) == key {
            return Reply::json(recorded("bedrock/accepted/bedrock_converse_final.json"));
        }
        let body = r#"{"message":"The security token included in the request is expired"}"#;
        let kind = "ExpiredTokenException:http://internal.amazon.com/coral/";
        Reply::json(body).status(403).header("x-amzn-errortype", kind)
    })
    .await
}

fn environment(folder: &Path, url: &str) -> impl Fn(&str) -> Option<String> + use<> {
    let file = |name: &str| folder.join(name).to_str().map(str::to_owned);
    let (credentials, config, url) = (file("credentials"), file("config"), url.to_owned());
    move |name| match name {
        "AWS_SHARED_CREDENTIALS_FILE" => credentials.clone(),
        "AWS_CONFIG_FILE" => config.clone(),
        "AWS_PROFILE" => Some("work".to_owned()),
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME" => Some(url.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn a_profile_signs_with_its_keys_and_renewed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "work", "AKFIRST");
    fs::write(folder.join("config"), "[profile work]\nregion = eu-west-1\n").unwrap();
    let replay = taking("AKFIRST").await;
    let environment = environment(folder, &replay.url());
    let ids = discover(&environment).unwrap();
    assert_eq!(ids.iter().map(Remote::id).collect::<Vec<_>>(), ["bedrock"]);
    let model = Model::from_env("bedrock/m", &environment).unwrap();
    model.chat([Message::user("hi")]).send().await.unwrap();
    // A change of the file is noticed without a rejected request.
    write(folder, "work", "AKSECOND");
    let began = Instant::now();
    let fault = loop {
        match model.chat([Message::user("hi")]).send().await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(fault) => break fault,
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the new keys are not read");
    };
    assert_eq!(fault.class, FaultClass::Unauthenticated);
    let mut keys: Vec<String> = replay.seen().iter().map(signed).collect();
    keys.dedup();
    assert_eq!(keys, ["AKFIRST", "AKSECOND"]);
}

#[tokio::test]
async fn keys_that_have_expired_are_read_again_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "work", "AKOLD");
    fs::write(folder.join("config"), "[profile work]\nregion = eu-west-1\n").unwrap();
    let replay = taking("AKNEW").await;
    let environment = environment(folder, &replay.url());
    let model = Model::from_env("bedrock/m", &environment).unwrap();
    write(folder, "work", "AKNEW");
    // Earlier than the periodic check of the file.
    model.chat([Message::user("hi")]).send().await.unwrap();
    let keys: Vec<String> = replay.seen().iter().map(signed).collect();
    assert_eq!(keys, ["AKOLD", "AKNEW"]);
    // If the file has no other key, the rejection is returned, after one request.
    write(folder, "work", "AKOLD");
    let model = Model::from_env("bedrock/m", &environment).unwrap();
    model.chat([Message::user("hi")]).send().await.unwrap_err();
    assert_eq!(replay.seen().len(), 3);
}

#[test]
fn a_profile_without_keys_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path(), "http://127.0.0.1:1");
    let error = find("bedrock").unwrap().remote(&environment).unwrap_err().to_string();
    assert!(error.contains("there is no profile `work`"), "{error}");
    assert!(discover(&environment).unwrap().is_empty());
    // The default profile was not requested explicitly, so it may be absent, or unusable here.
    let nameless = |name: &str| environment(name).filter(|_| name != "AWS_PROFILE");
    let text = "[default]\nsso_session = corp\nregion = eu-west-1\n";
    fs::write(folder.path().join("config"), text).unwrap();
    assert!(discover(&nameless).unwrap().is_empty());
    write(folder.path(), "default", "AKDEFAULT");
    assert_eq!(discover(&nameless).unwrap().len(), 1);
}
