//! A saved run is read back as it was written.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use toolwright_core::part::{
    CacheMark, Media, MediaKind, MediaSource, Opaque, Reasoning, Section, SectionKind, Signature,
};
use toolwright_core::{Arguments, Body, Call, Json, Message, Outcome, Part, Role};
use toolwright_core::{Dialect, Extra, object};
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::RunError;
use toolwright_testing::tools::toolbox;

use super::{agent, assert_legal};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z \"\\\\\u{1}\n]{0,8}", "[\u{4e00}-\u{4e20}]{0,4}", Just("𝄞\u{0}".to_owned())]
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(Dialect::ALL.to_vec())
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        Just(Json::parse("1e400").unwrap()),
        Just(Json::parse("0.10").unwrap()),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec((text(), inner), 0..3).prop_map(|members| {
                Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
            }),
        ]
    })
}

fn extra() -> impl Strategy<Value = Extra> {
    prop_oneof![
        Just(Extra::NONE),
        (dialect(), value()).prop_map(|(dialect, value)| {
            Extra::new(dialect, object! {"\u{1}note": true, "field": value})
        }),
    ]
}

fn arguments() -> impl Strategy<Value = Arguments> {
    prop_oneof![
        value().prop_map(|value| Arguments::from_json(&value)),
        Just(Arguments::from_text("{ \"a\" : 1.0 }")),
        text().prop_map(Arguments::Free),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let kinds = vec![MediaKind::Image, MediaKind::Document, MediaKind::Audio, MediaKind::Video];
    let source = prop_oneof![
        text().prop_map(MediaSource::Base64),
        text().prop_map(MediaSource::Text),
        text().prop_map(MediaSource::Url),
        (dialect(), text()).prop_map(|(dialect, id)| MediaSource::File(dialect, id)),
    ];
    let (mime, name) = (prop::option::of(text()), prop::option::of(text()));
    (prop::sample::select(kinds), mime, source, name).prop_map(|(kind, mime, source, name)| Media {
        kind,
        mime,
        source,
        name,
    })
}

fn reasoning() -> impl Strategy<Value = Reasoning> {
    let section = (any::<bool>(), text()).prop_map(|(summary, text)| Section {
        kind: if summary { SectionKind::Summary } else { SectionKind::Full },
        text,
    });
    (prop::collection::vec(section, 0..3), any::<bool>())
        .prop_map(|(sections, redacted)| Reasoning { sections, redacted })
}

fn plain() -> impl Strategy<Value = Body> {
    prop_oneof![
        text().prop_map(|text| Body::Text(text.into())),
        text().prop_map(|text| Body::Refusal(text.into())),
        value().prop_map(Body::Json),
        media().prop_map(Body::Media),
        reasoning().prop_map(Body::Reasoning),
        (dialect(), value()).prop_map(|(dialect, value)| Body::Opaque(Opaque { dialect, value })),
    ]
}

fn attached(body: impl Strategy<Value = Body>) -> impl Strategy<Value = Part> {
    let signature = prop::option::of(
        (dialect(), text()).prop_map(|(dialect, value)| Signature { dialect, value }),
    );
    let cache = prop::option::of(
        prop::option::of(text()).prop_map(|ttl| CacheMark { ttl, ..CacheMark::default() }),
    );
    (body, signature, cache, extra()).prop_map(|(body, signature, cache, extra)| Part {
        signature,
        cache,
        extra,
        ..Part::new(body)
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let content = prop::collection::vec(attached(plain()), 0..3);
    (prop::option::of(text()), prop::option::of(text()), content, any::<Option<bool>>())
        .prop_map(|(call_id, name, content, error)| Outcome { call_id, name, content, error })
}

fn message() -> impl Strategy<Value = Message> {
    let call = (prop::option::of(text()), text(), arguments())
        .prop_map(|(id, name, arguments)| Body::Call(Call { id, name, arguments }));
    let body = prop_oneof![plain(), call, outcome().prop_map(Body::Outcome)];
    let roles = vec![Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];
    (prop::sample::select(roles), prop::collection::vec(attached(body), 0..4), extra())
        .prop_map(|(role, parts, extra)| Message { extra, ..Message::new(role, parts) })
}

proptest! {
    #[test]
    fn a_saved_run_is_read_back(messages in prop::collection::vec(message(), 0..4)) {
        let script = ScriptedModel::new().then_text("done");
        let agent = agent(&script, toolbox([]));
        let run = agent.run(messages.clone()).with_id("r").build().unwrap();
        let saved = run.save();
        let read = Json::parse(&saved.compact()).unwrap();
        let resumed = agent.resume(&read).unwrap().build().unwrap();
        assert_eq!(resumed.messages(), messages);
        let mut again = resumed.save();
        // The elapsed time grows.
        let spent = saved.get("spent").cloned().unwrap();
        again.as_object_mut().unwrap().insert("spent", spent);
        assert_eq!(again, saved);
    }

    #[test]
    fn a_damaged_document_is_refused_and_not_misread(at in 0usize..400, with in ".") {
        let script = ScriptedModel::new();
        let agent = agent(&script, toolbox([]));
        let text = agent.run("hello").with_id("r").build().unwrap().save().compact();
        let mut characters: Vec<char> = text.chars().collect();
        let at = at % characters.len();
        characters[at] = with.chars().next().unwrap();
        let damaged: String = characters.into_iter().collect();
        if let Ok(document) = Json::parse(&damaged)
            && let Ok(start) = agent.resume(&document)
        {
            // A document that is still accepted can be saved again.
            start.build().unwrap().save();
        }
    }
}

#[test]
fn a_later_version_is_refused() {
    let script = ScriptedModel::new();
    let agent = agent(&script, toolbox([]));
    let mut saved = agent.run("hello").build().unwrap().save();
    saved.as_object_mut().unwrap().insert("version", 2u64);
    let Err(RunError::Saved(error)) = agent.resume(&saved) else { panic!() };
    assert_eq!(error.path, "/version");
    assert!(error.expected.contains("later"));
    assert!(agent.resume(&Json::Null).is_err());
}

#[tokio::test]
async fn a_finished_run_stays_finished() {
    let script = ScriptedModel::new().then_text("done");
    let agent = agent(&script, toolbox([]));
    let mut run = agent.run("hello").build().unwrap();
    let finished = run.finish().await.unwrap();
    let resumed = agent.resume(&run.save()).unwrap().finish().await.unwrap();
    assert_eq!(resumed.response, finished.response);
    assert_eq!(resumed.messages, finished.messages);
    assert_eq!((resumed.turns, script.requests().len()), (1, 1));
    assert_legal(&resumed.messages);
}

#[test]
fn runs_have_unique_ids() {
    let script = ScriptedModel::new();
    let agent = agent(&script, toolbox([]));
    let id = || agent.run("hello").build().unwrap().id().to_owned();
    let (a, b) = (id(), id());
    assert_ne!(a, b);
    assert!(a.starts_with("run_") && a.len() == 36, "{a}");
}
