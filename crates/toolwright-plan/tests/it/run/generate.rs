//! Random plans: conditions, items, errors, retries, order, defaults, slots, and tools of every kind.

use toolwright_core::json::Object;
use toolwright_core::{Json, object};

/// A deterministic pseudorandom generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // Near seeds have unrelated sequences.
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns a number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    pub fn index(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).unwrap()
    }

    /// Returns true once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'o, T: ?Sized>(&mut self, options: &[&'o T]) -> &'o T {
        options[self.index(options.len())]
    }
}

/// The inputs of all plans.
pub fn inputs() -> Json {
    Json::parse(
        r#"{"flag":true,"rows":[{"n":1,"fail":false},{"n":2,"fail":true},{"n":3,"fail":false}]}"#,
    )
    .unwrap()
}

/// The plan of the tool `nested`, whose arguments name its steps.
pub fn nested() -> Json {
    let text = r#"{"plan":"1","inputs":{"type":"object","additionalProperties":true},"steps":{
        "a":{"tool":"once","args":{"id":{"$from":"inputs/a"},"at":{"$from":"inputs/at","$default":null},
            "x":{"$from":"inputs/x","$default":null},"fail":{"$from":"inputs/fail","$default":false}}},
        "b":{"tool":"keyed","args":{"id":{"$from":"inputs/b"},"at":{"$from":"inputs/at","$default":null},
            "n":{"$from":"a/n"}}},
        "c":{"tool":"ask","when":{"value":{"$from":"b/n"},"is":{"minimum":4}},
            "args":{"id":{"$from":"inputs/c"},"at":{"$from":"inputs/at","$default":null}}}},
        "outputs":{"a":{"$from":"a"},"b":{"$from":"b"},"c":{"$from":"c"}}}"#;
    Json::parse(text).unwrap()
}

/// Returns a plan. Slots need a toolbox that stores values.
pub fn plan(random: &mut Random, has_slots: bool) -> Json {
    let count = 2 + random.index(9);
    let steps: Object =
        (0..count).map(|at| (id(at).into(), step(random, at, has_slots).into())).collect();
    let mut outputs = Object::new();
    for at in 0..count {
        outputs.insert(id(at), object! {"$from": id(at)});
    }
    outputs.insert("part", reference(random, count, false));
    outputs.insert("parts", vec![reference(random, count, false), Json::from(7)]);
    let mut plan = object! {"plan": "1"};
    plan.insert(
        "inputs",
        Json::parse(
            r#"{"type":"object","properties":{"flag":{"type":"boolean"},"rows":{"type":"array"}}}"#,
        )
        .unwrap(),
    );
    plan.insert("steps", steps);
    plan.insert("outputs", outputs);
    if random.one_in(2) {
        plan.insert("limits", object! {"parallel": 1 + random.below(4)});
    }
    plan.into()
}

fn id(at: usize) -> String {
    format!("s{at}")
}

fn step(random: &mut Random, at: usize, has_slots: bool) -> Object {
    let tools =
        ["read", "keyed", "keyed", "once", "once", "nested", "nested", "ask", "store", "load"];
    let tool = random.pick(&tools[..if has_slots { tools.len() } else { 7 }]);
    // Items write a slot in no order.
    let each = (tool != "store" && random.one_in(3)).then(|| each(random, at));
    let has_items = each.is_some();
    let mut args = object! {"id": id(at)};
    if tool == "nested" {
        for inner in ["a", "b", "c"] {
            args.insert(inner, format!("{}/{inner}", id(at)));
        }
    }
    if has_items {
        args.insert("at", object! {"$from": "index"});
    }
    if random.one_in(2) {
        args.insert("x", value(random, at, has_items));
    }
    if random.one_in(3) {
        args.insert("y", vec![value(random, at, has_items), value(random, at, has_items)]);
    }
    match random.below(8) {
        0 => args.insert("fail", true),
        1 if has_items => args.insert("fail", object! {"$from": "item/fail", "$default": false}),
        2 | 3 => args.insert("chance", random.below(100)),
        _ => {}
    }
    let mut step = object! {"tool": tool};
    if random.one_in(5) {
        args.insert("flaky", 1 + random.below(2));
        step.insert("retry", object! {"max": 2, "backoff_ms": 1});
    } else if random.one_in(6) {
        step.insert("retry", object! {"max": random.below(3), "backoff_ms": 1});
    }
    step.insert("args", args);
    step.insert_some("each", each);
    if random.one_in(4) {
        step.insert("when", condition(random, at, has_items, 0));
    }
    if at > 0 && random.one_in(5) {
        step.insert("after", vec![id(random.index(at))]);
    }
    match random.below(4) {
        0 => step.insert("on_error", "skip"),
        1 => step.insert("on_error", "continue"),
        _ => {}
    }
    if random.one_in(8) {
        step.insert("idempotent", random.one_in(2));
    }
    step
}

/// An array, or what may be one.
fn each(random: &mut Random, at: usize) -> Json {
    match random.below(4) {
        0 => object! {"$from": "inputs/rows"}.into(),
        1 if at > 0 => {
            let mut from = object! {"$from": format!("{}/list", id(random.index(at)))};
            if random.one_in(2) {
                from.insert("$default", vec![1, 2]);
            }
            from.into()
        }
        2 if at > 0 => object! {"$from": id(random.index(at))}.into(),
        _ => {
            let count = random.index(4);
            let item = |random: &mut Random| match random.below(3) {
                0 => reference(random, at, false),
                1 => Json::from(random.below(5)),
                _ => object! {"n": random.below(5), "fail": random.one_in(4)}.into(),
            };
            Json::Array((0..count).map(|_| item(random)).collect())
        }
    }
}

fn value(random: &mut Random, at: usize, has_items: bool) -> Json {
    match random.below(5) {
        0 => Json::from(random.below(10)),
        1 => Json::from("文"),
        2 => object! {"inner": reference(random, at, has_items)}.into(),
        _ => reference(random, at, has_items),
    }
}

/// A reference to one of the first steps, to an input or to the item.
fn reference(random: &mut Random, steps: usize, has_items: bool) -> Json {
    let pointers = ["", "/n", "/n", "/ok", "/list", "/list/0", "/0/n", "/missing"];
    let from = match random.below(6) {
        0 | 1 if has_items => random.pick(&["item", "item/n", "index", "item/missing"]).to_owned(),
        0 => random
            .pick(&["inputs/flag", "inputs/rows", "inputs/rows/1/n", "inputs/rows/9"])
            .to_owned(),
        _ if steps > 0 => format!("{}{}", id(random.index(steps)), random.pick(&pointers)),
        _ => "inputs/flag".to_owned(),
    };
    let mut out = object! {"$from": from};
    if random.one_in(8) {
        out.insert("$as", "handle");
    }
    if random.one_in(2) {
        out.insert("$default", random.below(3));
    }
    out.into()
}

fn condition(random: &mut Random, at: usize, has_items: bool, depth: u32) -> Json {
    let mut value = reference(random, at, has_items);
    value.as_object_mut().unwrap().remove("$as");
    match random.below(if depth > 1 { 5 } else { 8 }) {
        0 => random.one_in(2).into(),
        4 if at > 0 => object! {"$from": format!("{}/ok", id(random.index(at)))}.into(),
        4 => object! {"$from": "inputs/flag"}.into(),
        1 => object! {"value": value, "is": object! {"minimum": random.below(5)}}.into(),
        2 => object! {"value": value, "is": object! {"type": "array"}}.into(),
        3 => object! {"value": value, "is": object! {"const": Json::Null}}.into(),
        5 => object! {"not": condition(random, at, has_items, depth + 1)}.into(),
        kind => {
            let list = [(); 2].map(|()| condition(random, at, has_items, depth + 1));
            let mut out = Object::new();
            out.insert(if kind == 6 { "all" } else { "any" }, Vec::from(list));
            out.into()
        }
    }
}
