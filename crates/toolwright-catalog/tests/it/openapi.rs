//! OpenAPI documents as manifests.

use toolwright_catalog::Manifest;
use toolwright_catalog::openapi::{Import, ImportError, ImportOptions, import};
use toolwright_catalog::runtime::http::{HttpCall, HttpRuntime, InputFile};
use toolwright_core::Dialect;
use toolwright_core::schema::Check;
use toolwright_core::{Json, Request, Tool};
use toolwright_dialects::dialect::{self, Target};
use toolwright_json::Object;
use toolwright_runtime::Context;
use toolwright_transport::secret::SecretString;
use toolwright_transport::{AddressPolicy, HttpClient};

use toolwright_testing::server::Server;

/// Maximum size of a schema that an import writes.
const MAX_SCHEMA_BYTES: usize = 40 << 10;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A document with paths and components.
fn document(version: &str, paths: &str, components: &str) -> Json {
    let head = match version {
        "2.0" => {
            r#""swagger":"2.0","host":"api.example","basePath":"/v1","schemes":["http","https"]"#
                .to_owned()
        }
        version => {
            format!(r#""openapi":"{version}","servers":[{{"url":"https://api.example/v1/"}}]"#)
        }
    };
    let info = r#""info":{"title":"Test API","version":"1.2"}"#;
    json(&format!("{{{head},{info},\"paths\":{paths},{components}}}"))
}

fn imported(document: &Json) -> Import {
    let imported = import(document, &ImportOptions::new()).unwrap();
    Manifest::parse(&imported.manifest).unwrap_or_else(|faults| panic!("{faults:?}"));
    imported
}

/// The only function of a document with one operation.
fn function(version: &str, operation: &str, components: &str) -> Json {
    let paths = format!(r#"{{"/things/{{id}}":{{"put":{operation}}}}}"#);
    let imported = imported(&document(version, &paths, components));
    assert_eq!(imported.report.refusals, []);
    imported.manifest.pointer("/functions/0").unwrap().clone()
}

fn at<'j>(value: &'j Json, pointer: &str) -> &'j Json {
    value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} of {}", value.pretty()))
}

#[track_caller]
fn assert_same(actual: &Json, expected: &str) {
    assert!(actual.same(&json(expected)), "{}", actual.pretty());
}

const NO_COMPONENTS: &str = r#""components":{}"#;

#[test]
fn an_operation_becomes_a_function() {
    let operation = r##"{"operationId":"things/update","summary":"Updates a thing.","description":"All of it.",
        "parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}},
            {"name":"filter[x]","in":"query","description":"A filter","schema":{"type":"string","default":"a"}},
            {"name":"Accept","in":"header","schema":{"type":"string"}}],
        "requestBody":{"required":true,"content":{"text/plain":{},"application/json":{"schema":{"type":"object",
            "required":["name","created"],"properties":{"name":{"type":"string"},"size":{"type":"number"},
            "created":{"type":"string","readOnly":true}}}}}},
        "responses":{"404":{"description":"none"},"201":{"$ref":"#/components/responses/Thing"}}}"##;
    let components = r##""components":{"responses":{"Thing":{"description":"x","content":{"application/json":
        {"schema":{"$ref":"#/components/schemas/Thing"}}}}},"schemas":{"Thing":{"type":"object","properties":
        {"next":{"$ref":"#/components/schemas/Thing"},"secret":{"type":"string","writeOnly":true}}}}}"##;
    assert_same(
        &function("3.0.3", operation, components),
        r##"{"name":"things_update","description":"Updates a thing.\n\nAll of it.",
        "input_schema":{"type":"object","properties":{"id":{"type":"integer"},
            "filter_x":{"type":"string","description":"(default: \"a\")"},
            "name":{"type":"string"},"size":{"type":"number"}},
            "required":["id","name"],"additionalProperties":false},
        "output_schema":{"type":"object","properties":{"next":{"$ref":"#/$defs/Thing"}},
            "$defs":{"Thing":{"type":"object","properties":{"next":{"$ref":"#/$defs/Thing"}}}}},
        "effect":"idempotent","secrets":[],
        "http":{"method":"PUT","path":"/things/{id}","parameters":[{"name":"id","in":"path"},
            {"name":"filter[x]","argument":"filter_x","in":"query"}],
            "body":{"content_type":"application/json","required":true,"properties":[{"name":"name"},{"name":"size"}]}}}"##,
    );
}

#[test]
fn a_manifest_has_the_facts_of_the_document() {
    let paths = r#"{"/a":{"get":{"responses":{}},"head":{},"post":{},"patch":{},"delete":{"deprecated":true}}}"#;
    let imported =
        imported(&document("3.1.0", paths, r#""tags":[{"name":"A"},{"name":"A"},{"name":"b"}]"#));
    let manifest = &imported.manifest;
    assert_eq!(at(manifest, "/id").as_str(), Some("test-api"));
    assert_eq!(at(manifest, "/version").as_str(), Some("1.2.0"));
    assert_same(at(manifest, "/tags"), r#"["A","b"]"#);
    assert_same(at(manifest, "/runtime"), r#"{"http":{"base_url":"https://api.example/v1"}}"#);
    let facts: Vec<_> = at(manifest, "/functions")
        .as_array()
        .unwrap()
        .iter()
        .map(|own| {
            ["name", "effect", "description"].map(|key| own.get(key).unwrap().as_str().unwrap())
        })
        .collect();
    assert_eq!(
        facts,
        [
            ["get_a", "read-only", "GET /a"],
            ["head_a", "read-only", "HEAD /a"],
            ["post_a", "once", "POST /a"],
            ["patch_a", "once", "PATCH /a"],
            ["delete_a", "idempotent", "Deprecated. DELETE /a"],
        ]
    );
}

#[test]
fn names_are_legal_unique_and_always_the_same() {
    let long = "x".repeat(200);
    let ids = ["a.b/c", "a-b-c", "a_b_c", "2x", "列出", &long, &format!("{long}y")];
    let paths: Vec<_> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| format!(r#""/{at}":{{"get":{{"operationId":"{id}"}}}}"#))
        .collect();
    let document = document("3.0.0", &format!("{{{}}}", paths.join(",")), NO_COMPONENTS);
    let names = |import: &Import| -> Vec<String> {
        let functions = at(&import.manifest, "/functions").as_array().unwrap();
        functions.iter().map(|own| at(own, "/name").as_str().unwrap().to_owned()).collect()
    };
    let first = names(&imported(&document));
    assert_eq!(first, names(&imported(&document)));
    assert_eq!(first[..4], ["a_b_c", "a_b_c_2", "a_b_c_3", "_2x"]);
    let is_legal = |name: &String| {
        name.len() <= 64 && name.bytes().all(|own| own.is_ascii_alphanumeric() || own == b'_')
    };
    assert!(first.iter().all(is_legal), "{first:?}");
    assert_eq!(first.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
}

/// The schema of a property of a JSON body.
fn converted(version: &str, schema: &str) -> Json {
    let body = r#"{"requestBody":{"required":true,"content":{"application/json":{"schema":
        {"type":"object","properties":{"x":SCHEMA}}}}}}"#;
    let operation = body.replace("SCHEMA", schema);
    let components =
        r#""components":{"schemas":{"Cat":{"type":"object"},"Dog":{"type":"object"}}}"#;
    at(&function(version, &operation, components), "/input_schema/properties/x").clone()
}

#[test]
fn keywords_of_openapi_3_0_become_json_schema() {
    for (schema, expected) in [
        (r#"{"type":"string","nullable":true}"#, r#"{"type":["string","null"]}"#),
        (
            r#"{"type":"string","nullable":true,"enum":["a"]}"#,
            r#"{"type":["string","null"],"enum":["a",null]}"#,
        ),
        (
            r##"{"nullable":true,"allOf":[{"$ref":"#/components/schemas/Cat"}]}"##,
            r##"{"anyOf":[{"allOf":[{"$ref":"#/$defs/Cat"}]},{"type":"null"}]}"##,
        ),
        (
            r#"{"type":"integer","minimum":1,"exclusiveMinimum":true}"#,
            r#"{"type":"integer","exclusiveMinimum":1}"#,
        ),
        (
            r#"{"type":"integer","maximum":9,"exclusiveMaximum":false}"#,
            r#"{"type":"integer","maximum":9}"#,
        ),
        (r#"{"type":"string","example":"a"}"#, r#"{"type":"string","examples":["a"]}"#),
        (
            r##"{"oneOf":[{"$ref":"#/components/schemas/Cat"},{"$ref":"#/components/schemas/Dog"}],
            "discriminator":{"propertyName":"kind"}}"##,
            r##"{"anyOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]}"##,
        ),
        (
            r##"{"$ref":"#/components/schemas/Cat","description":"D","minProperties":1}"##,
            r##"{"$ref":"#/$defs/Cat","description":"D"}"##,
        ),
        (
            r#"{"type":"object","required":true,"x-note":1,"xml":{},"additionalProperties":{"type":"any"}}"#,
            r#"{"type":"object","additionalProperties":{}}"#,
        ),
        (r#"{"type":"string","pattern":"(?<=x)("}"#, r#"{"type":"string"}"#),
    ] {
        assert_same(&converted("3.0.1", schema), expected);
    }
}

#[test]
fn keywords_of_openapi_3_1_are_kept() {
    for (schema, expected) in [
        (
            r#"{"type":["string","null"],"examples":["a","b"]}"#,
            r#"{"type":["string","null"],"examples":["a"]}"#,
        ),
        (
            r#"{"type":"integer","exclusiveMinimum":0}"#,
            r#"{"type":"integer","exclusiveMinimum":0}"#,
        ),
        (
            r##"{"$ref":"#/components/schemas/Cat","minProperties":1}"##,
            r##"{"$ref":"#/$defs/Cat","minProperties":1}"##,
        ),
        (
            r#"{"prefixItems":[{"const":1}],"items":false,"if":{"type":"array"},"then":true}"#,
            r#"{"prefixItems":[{"const":1}],"items":false,"if":{"type":"array"},"then":true}"#,
        ),
    ] {
        assert_same(&converted("3.1.1", schema), expected);
    }
}

/// Documents show credentials as examples, and a manifest with one is not published.
#[test]
fn credentials_of_examples_are_left_out() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let schema =
        format!(r#"{{"type":"string","description":"Such as {key} .","example":"{key}"}}"#);
    let schema = converted("3.0.0", &schema);
    assert!(!schema.compact().contains("abcdefgh"), "{}", schema.pretty());
    assert!(at(&schema, "/description").as_str().unwrap().starts_with("Such as "));
    let body = r#"{"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object",
        "properties":{"password":{"type":"string","example":"hunter22","enum":["hunter22","hunter23"]}}}}}}}"#;
    let function = function("3.0.0", body, NO_COMPONENTS);
    let expected = r#"{"type":"string","enum":["hunter22","hunter23"]}"#;
    assert_same(at(&function, "/input_schema/properties/password"), expected);
}

/// Case 36.
#[test]
fn a_recursive_document_has_legal_and_bounded_schemas_in_every_dialect() {
    let wide = |at: usize| {
        let next = format!(r##"{{"$ref":"#/components/schemas/Wide{}"}}"##, at + 1);
        let text = "long ".repeat(60);
        format!(
            r#""Wide{at}":{{"type":"object","description":"{text}","properties":{{"a":{next},"b":{next},"c":{{"type":"array","items":{next}}}}}}}"#
        )
    };
    let wides: Vec<String> = (0..200).map(wide).collect();
    let components = format!(
        r##""components":{{"schemas":{{
        "Tree":{{"type":"object","required":["value"],"properties":{{"value":{{"type":"string"}},
            "children":{{"type":"array","items":{{"$ref":"#/components/schemas/Tree"}}}}}}}},
        "Person":{{"type":"object","properties":{{"job":{{"$ref":"#/components/schemas/Company"}}}}}},
        "Company":{{"allOf":[{{"$ref":"#/components/schemas/Legal"}},{{"type":"object","properties":
            {{"staff":{{"type":"array","items":{{"$ref":"#/components/schemas/Person"}}}}}}}}]}},
        "Legal":{{"type":"object","properties":{{"owner":{{"oneOf":[{{"$ref":"#/components/schemas/Person"}},
            {{"$ref":"#/components/schemas/Company"}}]}}}}}},
        "Loop":{{"$ref":"#/components/schemas/Loop"}},
        {},"Wide200":{{"type":"string"}}}}}}"##,
        wides.join(",")
    );
    let body = |schema: &str| {
        format!(
            r#"{{"post":{{"requestBody":{{"required":true,"content":{{"application/json":{{"schema":{schema}}}}}}},
        "responses":{{"200":{{"description":"x","content":{{"application/json":{{"schema":{schema}}}}}}}}}}}}}"#
        )
    };
    let reference = |name: &str| format!(r##"{{"$ref":"#/components/schemas/{name}"}}"##);
    let paths = format!(
        r#"{{"/tree":{},"/person":{},"/list":{},"/wide":{},"/deep":{},"/inner":{}}}"#,
        body(&reference("Tree")),
        body(&reference("Person")),
        body(&format!(r#"{{"type":"array","items":{}}}"#, reference("Company"))),
        body(&reference("Wide0")),
        body(r##"{"$ref":"#/components/schemas/Wide1/properties/c"}"##),
        body(r##"{"$ref":"#/paths/~1tree/post/requestBody/content/application~1json/schema"}"##),
    );
    let imported = imported(&document("3.0.3", &paths, &components));
    assert_eq!(
        (imported.report.functions, imported.report.shortened),
        (6, 2),
        "{:?}",
        imported.report
    );
    let manifest = Manifest::parse(&imported.manifest).unwrap();
    for function in &manifest.functions {
        let schemas = [Some(&function.input_schema), function.output_schema.as_ref()];
        for schema in schemas.into_iter().flatten() {
            assert!(schema.compact().len() < MAX_SCHEMA_BYTES, "{}", function.name);
        }
        for codec in Dialect::ALL.into_iter().filter_map(dialect::codec) {
            for strict in [None, Some(true)] {
                let mut tool = Tool::function(&*function.name, function.input_schema.clone());
                tool.strict = strict;
                let request = Request { tools: vec![tool], ..Request::default() };
                let profile = codec.profile(&Target::default());
                let fitted = toolwright_dialects::fit::fit_made(request, &profile);
                let schema = fitted.request.tools[0].parameters().unwrap();
                let which = format!("{} in {} ({strict:?})", function.name, codec.dialect());
                Check::compile(schema).unwrap_or_else(|error| panic!("{which}: {error}"));
                assert_eq!(at(schema, "/type").as_str(), Some("object"), "{which}");
                assert!(schema.compact().len() < 1 << 20, "{which}: {}", schema.compact().len());
            }
        }
    }
    // What is valid is accepted, at any depth.
    let check = Check::compile(&manifest.functions[0].input_schema).unwrap();
    let tree = r#"{"value":"a","children":[{"value":"b","children":[{"value":"c"}]}]}"#;
    assert!(check.accepts(&json(tree)));
    assert!(!check.accepts(&json(&tree.replace(r#""c""#, "3"))));
}

#[test]
fn bodies_are_flattened_if_nothing_is_lost() {
    let body = |required: bool, schema: &str| {
        let operation = format!(
            r#"{{"requestBody":{{"required":{required},"content":{{"application/json":{{"schema":{schema}}}}}}}}}"#
        );
        function("3.0.0", &operation, NO_COMPONENTS)
    };
    let names = |function: &Json| -> Vec<String> {
        let properties = at(function, "/input_schema/properties").as_object().unwrap();
        properties.keys().map(str::to_owned).collect()
    };
    let flat = r#"{"type":"object","title":"T","properties":{"a":{},"b":{}},"additionalProperties":false}"#;
    assert_eq!(names(&body(false, flat)), ["id", "a", "b"]);
    for (required, schema) in [
        // A member has the name of a parameter.
        (true, r#"{"type":"object","properties":{"id":{}}}"#),
        // Members that no argument could be.
        (true, r#"{"type":"object","properties":{"a":{}},"additionalProperties":true}"#),
        (true, r#"{"type":"object"}"#),
        (true, r#"{"type":"array","items":{}}"#),
        // Constraints of the object as a whole.
        (true, r#"{"type":"object","properties":{"a":{}},"minProperties":1}"#),
        (true, r#"{"allOf":[{"type":"object","properties":{"a":{}}}]}"#),
        (false, r#"{"type":"object","properties":{"a":{}},"required":["a"]}"#),
        // Two members with the same legal name.
        (true, r#"{"type":"object","properties":{"a b":{},"a/b":{}}}"#),
    ] {
        let function = body(required, schema);
        assert_eq!(names(&function), ["id", "body"], "{schema}");
        assert_eq!(at(&function, "/http/body/argument").as_str(), Some("body"));
        assert_eq!(
            at(&function, "/input_schema/required").as_array().unwrap().len(),
            1 + usize::from(required)
        );
    }
    let form = r#"{"requestBody":{"required":true,"content":{"application/x-www-form-urlencoded":{"schema":
        {"type":"object","properties":{"id":{},"a":{"type":"array"}},"required":["id"]},
        "encoding":{"a":{"style":"deepObject","explode":true}}}}}}"#;
    let form = function("3.0.0", form, NO_COMPONENTS);
    assert_eq!(names(&form), ["id", "id_body", "a"]);
    assert_same(
        at(&form, "/http/body/properties"),
        r#"[{"name":"id","argument":"id_body"},{"name":"a","style":"deepObject","explode":true}]"#,
    );
}

#[test]
fn office_documents_are_files_and_xml_is_text() {
    let office = "application/vnd.openxmlformats-officedocument";
    for (media, is_file) in [
        (&*format!("{office}.wordprocessingml.document"), true),
        (&*format!("{office}.spreadsheetml.sheet"), true),
        ("application/xml", false),
        ("image/svg+xml", false),
    ] {
        let body = |content: &str| {
            let operation = format!(r#"{{"requestBody":{{"required":true,"content":{content}}}}}"#);
            function("3.1.0", &operation, NO_COMPONENTS)
        };
        let whole = body(&format!(r#"{{"{media}":{{}}}}"#));
        assert_eq!(whole.pointer("/http/body/file").is_some(), is_file, "{media}");
        let part = format!(r#"{{"properties":{{"x":{{"contentMediaType":"{media}"}}}}}}"#);
        let form = body(&format!(r#"{{"multipart/form-data":{{"schema":{part}}}}}"#));
        let file = form.pointer("/http/body/properties/0/file");
        assert_eq!(file.is_some(), is_file, "{media}");
    }
}

#[test]
fn swagger_forms_files_and_arrays_are_read() {
    let operation = r#"{"consumes":["multipart/form-data"],"parameters":[
        {"name":"id","in":"path","type":"string","required":true},
        {"name":"ids","in":"query","type":"array","items":{"type":"integer"},"collectionFormat":"pipes"},
        {"name":"files","in":"query","type":"boolean"},
        {"name":"note","in":"formData","type":"string","maxLength":9},
        {"name":"tags","in":"formData","type":"array","items":{"type":"string"},"collectionFormat":"multi"},
        {"name":"photo","in":"formData","type":"file","required":true,"description":"A photo"}],
        "responses":{"200":{"description":"ok","schema":{"type":"string","x-nullable":true}}}}"#;
    let function = function("2.0", operation, r#""definitions":{}"#);
    assert_same(
        at(&function, "/http"),
        r#"{"method":"PUT","path":"/things/{id}","parameters":[{"name":"id","in":"path"},
        {"name":"ids","in":"query","style":"pipeDelimited","explode":false},
        {"name":"files","argument":"files_query","in":"query"}],
        "body":{"content_type":"multipart/form-data","required":true,"properties":[{"name":"note"},
        {"name":"tags","style":"form","explode":true},{"name":"photo","file":"photo"}]}}"#,
    );
    assert_same(
        at(&function, "/files"),
        r#"{"photo":{"type":"array","items":{"type":"InputFile"},"minItems":1,"maxItems":1,"required":true,
        "description":"A photo"}}"#,
    );
    assert_same(
        at(&function, "/input_schema/properties/note"),
        r#"{"type":"string","maxLength":9}"#,
    );
    assert_same(at(&function, "/output_schema"), r#"{"type":["string","null"]}"#);
}

#[test]
fn security_schemes_become_secrets() {
    let components = r#""security":[{"key":[]}],"components":{"securitySchemes":{
        "key":{"type":"apiKey","in":"header","name":"X-Key","description":"From the console."},
        "user":{"type":"http","scheme":"Basic"},"token":{"type":"http","scheme":"bearer"},
        "oauth":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example/token","scopes":{}}}},
        "login":{"type":"openIdConnect","openIdConnectUrl":"https://login.example/.well-known/openid-configuration"},
        "cert":{"type":"mutualTLS"}}}"#;
    let paths = r#"{"/0":{"get":{}},"/1":{"get":{"security":[]}},"/2":{"get":{"security":[{"user":[]},{"cert":[]},{}]}},
        "/3":{"get":{"security":[{"key":[],"oauth":["read"]}]}},"/4":{"get":{"security":[{"cert":[]}]}},
        "/5":{"get":{"security":[{"login":[]},{"token":[]}]}}}"#;
    let imported = imported(&document("3.1.0", paths, components));
    let refusals: Vec<String> = imported.report.refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        refusals,
        [
            "/components/securitySchemes/cert: the security scheme 'cert' (mutualTLS) is not supported"
        ]
    );
    let key = r#"{"type":"api_key","in":"header","name":"X-Key","secret":"key"}"#;
    let bearer = |name: &str| format!(r#"{{"type":"bearer","secret":"{name}"}}"#);
    let oauth = r#"{"type":"oauth2","token_url":"https://login.example/token","client_id":"oauth_client_id",
        "client_secret":"oauth_client_secret","scopes":["read"]}"#;
    let user = r#"{"type":"basic","username":"user_username","password":"user_password"}"#;
    for (at_function, security, secrets) in [
        (0, format!("[[{key}]]"), r#"["key"]"#),
        (2, format!("[[{user}],[]]"), "[]"),
        (3, format!("[[{key},{oauth}],[{key},{}]]", bearer("oauth")), "[]"),
        (4, format!("[[{}],[{}]]", bearer("login"), bearer("token")), "[]"),
    ] {
        let function = at(&imported.manifest, &format!("/functions/{at_function}"));
        assert_same(at(function, "/http/security"), &security);
        assert_same(at(function, "/secrets"), secrets);
    }
    assert!(imported.manifest.pointer("/functions/1/http/security").is_none());
    let secrets = at(&imported.manifest, "/secrets").as_array().unwrap();
    let names: Vec<&str> = secrets.iter().map(|own| at(own, "/name").as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "key",
            "user_username",
            "user_password",
            "oauth_client_id",
            "oauth_client_secret",
            "oauth",
            "login",
            "token"
        ]
    );
    let expected = "The value of the header 'X-Key'. From the console.";
    assert_eq!(at(&imported.manifest, "/secrets/0/instructions").as_str(), Some(expected));
}

#[test]
fn operations_that_cannot_be_called_are_refused_and_the_others_imported() {
    let schema = |schema: &str| {
        format!(r#"{{"get":{{"parameters":[{{"name":"x","in":"query","schema":{schema}}}]}}}}"#)
    };
    let parameter = |parameter: &str| format!(r#"{{"get":{{"parameters":[{parameter}]}}}}"#);
    let paths = [
        (
            schema(r#"{"$ref":"other.yaml#/x"}"#),
            "'other.yaml#/x' refers to another document, and nothing is fetched; bundle them into one",
        ),
        (
            schema(r#"{"items":{"$ref":"https://x.example/y"}}"#),
            "'https://x.example/y' refers to another document, and nothing is fetched; bundle them into one",
        ),
        (
            schema(r##"{"$ref":"#/components/schemas/None"}"##),
            "'#/components/schemas/None' is not in the document",
        ),
        (
            parameter(r##"{"$ref":"#/components/parameters/Loop"}"##),
            "the reference refers to itself",
        ),
        (parameter(r#"{"in":"query"}"#), "the parameter has no name"),
        (
            parameter(r#"{"name":"x","in":"moon"}"#),
            "the parameter 'x' is in 'moon', which is not supported",
        ),
        (
            parameter(r#"{"name":"x y","in":"header"}"#),
            "the header 'x y': this is not a valid header name",
        ),
        (
            parameter(r#"{"name":"x","in":"query","style":"round"}"#),
            "the style \"round\" is not known",
        ),
        (r#"{"options":{}}"#.to_owned(), "options describes a server and is not called"),
        (
            r#"{"$ref":"paths.json"}"#.to_owned(),
            "'paths.json' refers to another document, and nothing is fetched; bundle them into one",
        ),
        (
            r#"{"get":{"servers":[{"url":"/relative"}]}}"#.to_owned(),
            "the server '/relative' is a relative URL or none; give the address with --base-url",
        ),
    ];
    let items: Vec<String> =
        paths.iter().enumerate().map(|(at, (item, _))| format!("\"/p{at}\":{item}")).collect();
    let paths_text =
        format!(r#"{{{},"/fine":{{"get":{{}}}},"/a#b":{{"get":{{}}}}}}"#, items.join(","));
    let components =
        r##""components":{"parameters":{"Loop":{"$ref":"#/components/parameters/Loop"}}}"##;
    let report = imported(&document("3.0.0", &paths_text, components)).report;
    assert_eq!((report.functions, report.operations), (1, paths.len() + 2));
    let mut refusals = report.refusals.iter();
    for (at, ((_, reason), refusal)) in paths.iter().zip(&mut refusals).enumerate() {
        assert_eq!(refusal.reason, *reason);
        let is_there = refusal.pointer.starts_with(&format!("/paths/~1p{at}"))
            || refusal.pointer.starts_with("/components");
        assert!(is_there, "{refusal}");
    }
    assert_eq!(refusals.next().unwrap().pointer, "/paths/~1a#b/get");
}

#[test]
fn a_document_that_cannot_be_imported_says_why() {
    let error =
        |document: &str| import(&json(document), &ImportOptions::new()).unwrap_err().to_string();
    assert_eq!(
        error("{}"),
        "this is not an OpenAPI document: it has neither `openapi` nor `swagger`"
    );
    assert_eq!(
        error(r#"{"openapi":"4.0"}"#),
        "OpenAPI 4.0 is not supported; supported are 3.0, 3.1 and Swagger 2.0"
    );
    let give = "give the address of the server with --base-url";
    let paths = r#""paths":{"/":{"get":{}}}"#;
    for (head, reason) in [
        (r#""swagger":"2.0""#, "the document has no host"),
        (r#""openapi":"3.0.0""#, "the document names no server"),
        (
            r#""openapi":"3.0.0","servers":[{"url":"/v1"}]"#,
            "the server '/v1' is a relative URL or none",
        ),
        (
            r#""openapi":"3.0.0","servers":[{"url":"https://{a}.x/{b}","variables":{"a":{"default":"eu"}}}]"#,
            "the server https://{a}.x/{b} has variables (a, b), for example https://eu.x/…",
        ),
        (
            r#""openapi":"3.0.0","servers":[{"url":"https://u:p@x.example"}]"#,
            "the server 'https://u:[redacted]@x.example' is not an http or https URL without user name and query",
        ),
    ] {
        let document = format!("{{{head},{paths}}}");
        assert_eq!(error(&document), format!("{reason}; {give}"));
        let options = ImportOptions::new()
            .with_base_url("http://127.0.0.1:1")
            .with_id("mine")
            .with_version("3.0.0");
        let manifest = import(&json(&document), &options).unwrap().manifest;
        assert_eq!(at(&manifest, "/runtime/http/base_url").as_str(), Some("http://127.0.0.1:1"));
        assert_eq!(
            (at(&manifest, "/id").as_str(), at(&manifest, "/version").as_str()),
            (Some("mine"), Some("3.0.0"))
        );
    }
    let none =
        r#"{"openapi":"3.0.0","servers":[{"url":"https://x.example"}],"paths":{"/":{"trace":{}}}}"#;
    assert!(matches!(import(&json(none), &ImportOptions::new()), Err(ImportError::NoFunctions(_))));
    assert_eq!(
        error(none),
        "none of the 1 operations can be imported; the first: /paths/~1/trace: trace describes a server and is not called"
    );
}

/// Case 37. The request of an imported function, as the server receives it.
#[tokio::test]
async fn a_server_receives_the_request_of_an_imported_function() {
    let paths = r#"{"/users/{user}/photos{size}":{"post":{"operationId":"add","parameters":[
        {"name":"user","in":"path","required":true,"schema":{"type":"string"}},
        {"name":"size","in":"path","required":true,"style":"matrix","explode":true,"schema":{"type":"object"}},
        {"name":"kind","in":"query","schema":{"type":"string","enum":["raw","thumb nail"]}},
        {"name":"X-Ids","in":"header","schema":{"type":"array","items":{"type":"integer"}}},
        {"name":"theme","in":"cookie","schema":{"type":"string"}}],
        "requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{
        "meta":{"type":"object"},"photo":{"type":"string","format":"binary"}}}}}}}}}"#;
    let components = r#""security":[{"k":[]}],"components":{"securitySchemes":{"k":{"type":"apiKey","in":"query","name":"key"}}}"#;
    let (server, mut requests) = Server::recording().await;
    let options = ImportOptions::new().with_base_url(server.url());
    let imported = import(&document("3.0.3", paths, components), &options).unwrap();
    let manifest = Manifest::parse(&imported.manifest).unwrap();
    let function = &manifest.functions[0];
    let binding = function.http.as_ref().unwrap();
    let arguments = json(
        r#"{"user":"a/b","size":{"w":1,"h":2},"kind":"thumb nail","X-Ids":[1,2],"theme":"dark",
        "meta":{"by":"me"}}"#,
    );
    let mut with_files = arguments.clone();
    with_files
        .as_object_mut()
        .unwrap()
        .insert("files", json(r#"{"photo":["https://x.example/p"]}"#));
    let check = Check::compile(&function.input_schema).unwrap();
    assert!(check.accepts(&with_files));
    let arguments: &Object = arguments.as_object().unwrap();
    let files = [InputFile {
        key: "photo".to_owned(),
        name: "p.png".to_owned(),
        content_type: "image/png".to_owned(),
        bytes: "png".into(),
    }];
    let policy = AddressPolicy::public().with_allowed("127.0.0.1").unwrap();
    let runtime = HttpRuntime::new(HttpClient::new("the API").unwrap().with_policy(policy));
    let call = HttpCall {
        base_url: &server.url(),
        headers: &[],
        function: &function.name,
        binding: Some(binding),
        arguments,
        files: &files,
        secrets: &|_| Some(SecretString::from("s")),
        filled: &[],
        context: &Context::default(),
    };
    let _ = runtime.call(call).await.unwrap();
    let (head, body) = requests.recv().await.unwrap();
    assert!(
        head.starts_with("POST /users/a%2Fb/photos;w=1;h=2?kind=thumb%20nail&key=s HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\nx-ids: 1,2\r\n") && head.contains("\r\ncookie: theme=dark\r\n"),
        "{head}"
    );
    let body = String::from_utf8(body).unwrap();
    for part in [
        "name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"by\":\"me\"}\r\n",
        "name=\"photo\"; filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\npng\r\n",
    ] {
        assert!(body.contains(part), "{body}");
    }
}
