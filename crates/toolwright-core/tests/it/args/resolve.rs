//! Resolving a model's text to the arguments that a tool runs with: completion, resolution,
//! feedback.

use std::sync::Arc;

use toolwright_core::args::{
    CheckedCall, CoercionOptions, Missing, Op, Parameters, ResolvedArguments, hidden_names, parse,
};
use toolwright_core::{Arguments, Call, Json, Tool};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn parameters(schema: &str, hidden: &str) -> Parameters {
    Parameters::compile(&Tool::function("t", json(schema)), &hidden_names(hidden)).unwrap()
}

fn names(list: &[Arc<str>]) -> Vec<&str> {
    list.iter().map(|name| &**name).collect()
}

fn resolve(parameters: &Parameters, text: &str) -> ResolvedArguments {
    parameters.resolve(parse(&Arguments::from_text(text)), &CoercionOptions::default())
}

/// The tool of the document that specified completion.
const OPTIMIZE: &str = r#"{"type":"object","required":["input_structure","model_path"],"properties":{
    "input_structure":{"type":"string"},"model_path":{"type":"string"},
    "head":{"type":"string","default":"Omat24"},
    "force_tolerance":{"type":"number","default":0.01},
    "max_iterations":{"type":"integer","default":100},
    "relax_cell":{"type":"boolean","default":false},
    "executor":{"type":"object"},"storage":{"type":"object"}}}"#;

#[test]
fn optimize_structure_is_completed_as_specified() {
    let resolved = resolve(
        &parameters(OPTIMIZE, "@system"),
        r#"{"input_structure":"https://x/Cu_bulk.cif","model_path":"https://x/dpa.pt","relax_cell":false}"#,
    );
    assert!(resolved.is_runnable());
    assert_eq!(
        resolved.arguments().compact(),
        r#"{"input_structure":"https://x/Cu_bulk.cif","model_path":"https://x/dpa.pt","relax_cell":false,"head":"Omat24","force_tolerance":0.01,"max_iterations":100}"#
    );
    assert_eq!((resolved.missing(), resolved.changes()), (&[][..], &[][..]));
    assert_eq!(names(resolved.defaulted()), ["head", "force_tolerance", "max_iterations"]);
    let shown = resolve(&parameters(OPTIMIZE, ""), r#"{"model_path":"m"}"#);
    let missing: Vec<(&str, bool)> =
        shown.missing().iter().map(|missing| (&*missing.name, missing.required)).collect();
    assert_eq!(missing, [("input_structure", true), ("executor", false), ("storage", false)]);
    assert!(!shown.is_runnable());
}

#[test]
fn given_values_stay_and_host_filled_ones_are_not_missing() {
    let parameters = parameters(OPTIMIZE, "@system");
    let Json::Object(mut arguments) = json(r#"{"head":"mine","extra":1}"#) else { panic!() };
    let completed = parameters.complete(&mut arguments, &["input_structure", "max_iterations"]);
    assert_eq!(completed.missing, [Missing { name: "model_path".into(), required: true }]);
    assert_eq!(names(&completed.defaulted), ["force_tolerance", "relax_cell"]);
    assert_eq!(
        arguments.compact(),
        r#"{"head":"mine","extra":1,"force_tolerance":0.01,"relax_cell":false}"#
    );
}

#[test]
fn a_required_value_is_not_invented_from_its_default() {
    let schema = r#"{"required":["a"],"properties":{"a":{"type":"integer","default":1}}}"#;
    let resolved = resolve(&parameters(schema, ""), "{}");
    assert_eq!(resolved.arguments().compact(), r#"{"a":1}"#, "shown, as completion asks");
    assert!(!resolved.is_runnable(), "but not run");
    assert_eq!(resolved.errors()[0].keyword, "required");
}

#[test]
fn an_invalid_default_counts_as_missing_and_is_reported() {
    let parameters = parameters(
        r#"{"properties":{"a":{"type":"integer","default":"x"},"b":{"type":"array","items":{"type":"string"},"default":[1]},"a/c":{"minimum":3,"default":2},"d":{"default":null}}}"#,
        "",
    );
    let resolved = resolve(&parameters, "{}");
    assert_eq!(resolved.arguments().compact(), r#"{"d":null}"#);
    let missing: Vec<&str> = resolved.missing().iter().map(|missing| &*missing.name).collect();
    assert_eq!(missing, ["a", "b", "a/c"]);
    let told: Vec<&str> =
        parameters.bad_defaults().iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(told, ["/a", "/b/0", "/a~1c"]);
    assert!(resolved.is_runnable());
}

#[test]
fn a_default_never_invalidates_accepted_arguments() {
    let schema = r#"{"properties":{"by_id":{"default":1},"by_name":{"type":"string"},"n":{"default":5}},
        "oneOf":[{"required":["by_id"]},{"required":["by_name"]}]}"#;
    let resolved = resolve(&parameters(schema, ""), r#"{"by_name":"x"}"#);
    assert!(resolved.is_runnable());
    assert_eq!(resolved.arguments().compact(), r#"{"by_name":"x","n":5}"#);
    assert_eq!(resolved.missing(), [Missing { name: "by_id".into(), required: false }]);
}

#[test]
fn defaults_within_a_given_object_are_left_to_the_tool() {
    let schema = r#"{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer","default":1}}}}}"#;
    assert_eq!(
        resolve(&parameters(schema, ""), r#"{"o":{}}"#).arguments().compact(),
        r#"{"o":{}}"#
    );
    let missing = resolve(&parameters(schema, ""), "{}");
    assert_eq!(missing.missing(), [Missing { name: "o".into(), required: false }]);
}

#[test]
fn parameters_are_found_through_references_and_composition() {
    let schema = r##"{"$ref":"#/$defs/whole","$defs":{"size":{"type":"integer","default":7},
        "whole":{"required":["x"],"properties":{"x":true},"allOf":[{"properties":{"size":{"$ref":"#/$defs/size"},"executor":{}},"required":["executor"]}]}}}"##;
    let resolved = resolve(&parameters(schema, "@system"), r#"{"x":1}"#);
    assert!(resolved.is_runnable(), "{:?}", resolved.errors());
    assert_eq!(resolved.arguments().compact(), r#"{"x":1,"size":7}"#);
    assert!(
        !resolve(&parameters(schema, ""), r#"{"x":1}"#).is_runnable(),
        "nothing is hidden unless named"
    );
}

#[test]
fn hidden_parameters_are_removed_and_reported() {
    let schema = r#"{"properties":{"a":true,"token":{"type":"string"}},"required":["token"],"additionalProperties":false}"#;
    let resolved = resolve(&parameters(schema, "token"), r#"{"a":1,"token":"guess"}"#);
    assert!(resolved.is_runnable());
    assert_eq!(resolved.arguments().compact(), r#"{"a":1}"#);
    let change = &resolved.changes()[0];
    assert_eq!((change.path.as_str(), change.op, &change.from), ("/token", Op::Hide, &None));
}

#[test]
fn repeated_keys_are_one_value_or_none() {
    let schema = r#"{"properties":{"a":{"type":"integer"},"o":{"type":"object"}}}"#;
    let resolved = resolve(&parameters(schema, ""), r#"{"a":1,"o":{"x":1,"x":1.0},"a":1}"#);
    assert!(resolved.is_runnable());
    assert_eq!(resolved.arguments().compact(), r#"{"o":{"x":1.0},"a":1}"#);
    let told: Vec<(&str, Op)> =
        resolved.changes().iter().map(|change| (change.path.as_str(), change.op)).collect();
    assert_eq!(told, [("", Op::Repeat), ("/o", Op::Repeat)]);
    let refused = resolve(&parameters(schema, ""), r#"{"a":1,"a":2}"#);
    assert_eq!(refused.errors()[0].keyword, "repeated");
}

#[test]
fn only_resolved_arguments_become_a_call() {
    let parameters = parameters(OPTIMIZE, "@system");
    let text = r#"{"input_structure":"a","model_path":"b"}"#;
    let call = Call::new("call_1", "t", Arguments::from_text(text));
    let checked = CheckedCall::new(&call, resolve(&parameters, text)).unwrap();
    assert_eq!((checked.id(), checked.name(), checked.is_closed()), (Some("call_1"), "t", false));
    assert_eq!(checked.arguments().len(), 6);
    for wrong in
        ["", "{}", "[]", "null", "\"x\"", "no", r#"{"input_structure":{},"model_path":"b"}"#]
    {
        let resolved = resolve(&parameters, wrong);
        let refused = CheckedCall::new(&call, resolved.clone()).unwrap_err();
        assert_eq!(*refused, resolved, "{wrong}");
        assert!(refused.feedback().is_some() && !refused.errors().is_empty(), "{wrong}");
    }
}

#[test]
fn text_that_cannot_be_understood_never_becomes_an_empty_object() {
    let parameters = parameters(r#"{"properties":{"a":{"default":1},"b":true}}"#, "");
    let resolved = resolve(&parameters, "not json at all");
    assert!(!resolved.is_runnable() && !resolved.is_understood());
    assert_eq!(resolved.to_json().get("tool_args"), Some(&Json::Null));
    let feedback = resolved.feedback().unwrap();
    assert!(feedback.starts_with("Invalid JSON input for tool t"), "{feedback}");
    assert!(feedback.contains("Not given, optional: b"), "{feedback}");
    assert!(resolve(&parameters, "").is_runnable(), "nothing at all means no arguments");
}

#[test]
fn a_null_that_strict_mode_asked_for_means_absent() {
    use toolwright_core::profile::{SchemaRule, Subset};
    use toolwright_core::schema::{lower, undo_nulls};
    let schema = json(
        r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":3},"note":{"type":["string","null"]}},"required":["city","note"]}"#,
    );
    let rule = SchemaRule { strict: Subset::OpenaiStrict, ..SchemaRule::FULL };
    let lowered = lower(&schema, &rule, true);
    let mut sent = json(r#"{"city":"北京","days":null,"note":null}"#);
    assert!(undo_nulls(&mut sent, &lowered.nulls));
    let parameters = Parameters::compile(&Tool::function("t", schema), &[]).unwrap();
    let resolved =
        parameters.resolve(parse(&Arguments::from_json(&sent)), &CoercionOptions::default());
    assert!(resolved.is_runnable(), "{:?}", resolved.errors());
    assert_eq!(resolved.arguments().compact(), r#"{"city":"北京","note":null,"days":3}"#);
}

#[test]
fn every_digit_reaches_the_tool() {
    let schema =
        r#"{"properties":{"id":{"type":"integer"},"x":{"type":"number"}},"required":["id"]}"#;
    for id in ["9007199254740993", "18446744073709551615", "1234567890123456789012345", "1e400"] {
        let text = format!(r#"{{"id":{id},"x":0.10}}"#);
        let resolved = resolve(&parameters(schema, ""), &text);
        assert!(resolved.is_runnable(), "{id}");
        assert_eq!(resolved.arguments().compact(), text);
    }
}

#[test]
fn feedback_names_every_error_and_nothing_else() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":7},"lang":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
    let resolved =
        resolve(&parameters(schema, ""), r#"{"cty":"北京","unit":"celcius!!","days":0}"#);
    assert_eq!(
        resolved.feedback().unwrap(),
        "The arguments for tool t were not accepted.\n\
         - the arguments (additionalProperties): has no place for 'cty' (did you mean 'city'?); accepted: 'city', 'unit', 'days', 'lang'\n\
         - the arguments (required): 'city' is missing\n\
         - /unit (enum): must be one of the accepted values (did you mean 'celsius'?); got \"celcius!!\"; accepted: 'celsius', 'fahrenheit'\n\
         - /days (minimum): must be at least 1; got 0; accepted: 1\n\
         Missing, required: city.\n\
         Not given, optional: lang.\n\
         Call the tool again. Correct only what is named here and keep the other arguments as they were."
    );
    assert_eq!(resolve(&parameters(schema, ""), r#"{"city":"北京"}"#).feedback(), None);
}

#[test]
fn feedback_is_bounded() {
    let parameters = parameters(
        r#"{"properties":{"a":{"items":{"type":"integer"}}},"additionalProperties":false}"#,
        "",
    );
    let items = vec!["\"天气\""; 5000].join(",");
    let names: Vec<String> =
        (0..5000).map(|index| format!("\"{}{index}\":1", "名".repeat(300))).collect();
    let resolved = resolve(&parameters, &format!("{{\"a\":[{items}],{}}}", names.join(",")));
    let feedback = resolved.feedback().unwrap();
    assert!(feedback.len() < 40_000, "{}", feedback.len());
    assert!(feedback.contains("more of this kind"));
}

#[test]
fn free_text_is_the_one_parameter_of_a_custom_tool() {
    use toolwright_core::ToolKind;
    let tool = Tool { name: "run".into(), kind: ToolKind::Custom(None), ..Tool::default() };
    let parameters = Parameters::compile(&tool, &[]).unwrap();
    let parsed = parse(&Arguments::Free("print(1)".into()));
    let resolved = parameters.resolve(parsed, &CoercionOptions::default());
    assert_eq!(resolved.arguments().compact(), r#"{"input":"print(1)"}"#);
    let any = Parameters::compile(&Tool { name: "now".into(), ..Tool::default() }, &[]).unwrap();
    assert!(resolve(&any, "{}").is_runnable() && !resolve(&any, "[]").is_runnable());
}

#[test]
fn a_whole_call_in_place_of_arguments_is_unwrapped_even_if_it_validates() {
    let open = parameters(
        r#"{"type":"object","properties":{"genre":{"type":"string","default":"any"},"name":{"type":"string"}}}"#,
        "",
    );
    for text in [
        r#"{"name":"t","arguments":{"genre":"Pop"}}"#,
        r#"{"id":"1","tool":"t","parameters":{"genre":"Pop"}}"#,
        r#"{"arguments":{"genre":"Pop"}}"#,
    ] {
        let resolved = resolve(&open, text);
        assert_eq!(resolved.arguments().compact(), r#"{"genre":"Pop"}"#, "{text}");
        assert_eq!(resolved.changes()[0].op, Op::Unwrap, "{text}");
    }
    // A call of another tool, a wrapper around other values and a parameter with that name are left
    // alone.
    for text in [
        r#"{"name":"Ada","arguments":{"genre":"Pop"}}"#,
        r#"{"arguments":{"colour":"red"}}"#,
        r#"{"arguments":{}}"#,
        r#"{"genre":"Pop","arguments":{"genre":"Jazz"}}"#,
    ] {
        let resolved = resolve(&open, text);
        assert!(resolved.changes().is_empty(), "{text}");
        assert!(resolved.arguments().contains_key("arguments"), "{text}");
    }
}

#[test]
fn an_invalid_likely_reading_is_not_replaced_by_an_unlikely_one() {
    // The line break must be escaped. That the enum rejects the result does not justify reading
    // everything from `b` on as one string.
    let parameters = parameters(
        r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},"scale":{"enum":["low","high"]}}}"#,
        "",
    );
    let resolved =
        resolve(&parameters, "{\"list\": [\"a\", \"b\"], \"scale\": \"high\nand more\"}");
    assert!(!resolved.is_runnable());
    assert_eq!((&*resolved.errors()[0].path, &*resolved.errors()[0].keyword), ("/scale", "enum"));
}

/// A tool without required parameters, so that validation accepts almost anything.
const ROUTE: &str = r#"{"type":"object","properties":{
    "city":{"type":"string"},"mode":{"type":"string","default":"walk"},
    "stops":{"type":"array","items":{"type":"string"}},
    "range":{"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"}}}}}"#;

#[test]
fn a_string_does_not_swallow_a_parameter() {
    let parameters = parameters(ROUTE, "");
    let resolved = resolve(&parameters, r#"{"city": "Rome, "mode": "drive"}"#);
    assert_eq!(resolved.arguments().compact(), r#"{"city":"Rome","mode":"drive"}"#);
    for text in [r#"{"city": "Rome, "mode": drive"}"#, r#"{"city": "x "mode: "drive" y"}"#] {
        assert!(!resolve(&parameters, text).is_runnable(), "{text}");
    }
    let resolved = resolve(&parameters, r#"{"city": "the "mode" is: "x"", "mode": "drive"}"#);
    assert_eq!(
        resolved.arguments().compact(),
        r#"{"city":"the \"mode\" is: \"x\"","mode":"drive"}"#
    );
}

#[test]
fn guessed_brackets_do_not_invent_members() {
    let parameters = parameters(ROUTE, "");
    for text in [
        r#"{"range": {"min": 1, }"max": 2}}"#,
        r#"{"range": {"min": 1, "max": 2, "city": "Rome"}"#,
        r#"{"stops": ["a"]], "nowhere": 1}"#,
    ] {
        assert!(!resolve(&parameters, text).is_runnable(), "{text}");
    }
    // Nothing is guessed here.
    let resolved = resolve(&parameters, "{'city': 'Rome', 'nowhere': 1,}");
    assert_eq!(resolved.arguments().compact(), r#"{"city":"Rome","nowhere":1,"mode":"walk"}"#);
}

#[test]
fn a_wrapped_call_of_another_tool_is_refused_and_of_its_own_unwrapped() {
    let parameters = parameters(ROUTE, "");
    for text in [
        r#"{"name": "delete", "arguments": {"city": "Rome"}}"#,
        r#"{"tool": "delete", "parameters": "{\"city\": \"Rome\"}"}"#,
        "[delete(city='Rome')]",
    ] {
        let resolved = resolve(&parameters, text);
        assert_eq!(resolved.errors()[0].keyword, "tool", "{text}");
    }
    for text in [
        r#"[{"name": "t", "arguments": {"city": "Rome"}}]"#,
        r#"[{"name": "t", "arguments": "{\"city\": \"Rome\"}"}]"#,
        "[t(city='Rome')]",
        "t(city = \"Rome\")",
        "{&quot;city&quot;: &quot;Rome&quot;}",
    ] {
        let resolved = resolve(&parameters, text);
        assert_eq!(resolved.arguments().compact(), r#"{"city":"Rome","mode":"walk"}"#, "{text}");
        assert!(resolved.is_runnable() && !resolved.changes().is_empty(), "{text}");
    }
    // Two calls are not merged into one.
    let twice = r#"[{"name": "t", "arguments": {}}, {"name": "t", "arguments": {}}]"#;
    assert!(!resolve(&parameters, twice).is_runnable());
}
