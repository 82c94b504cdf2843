//! Published plans that are called without a run: by a model, at `/mcp` and at `/execute`. Their effects happen once,
//! and a call within them that needs a person is refused.

use toolwright_core::{Json, object};

use super::nested::{COPY, LOCAL, calls, done, publish_order, publish_plan, publish_shop};
use crate::exchange::catalog::calls_offered;
use crate::exchange::tools::{CHAT, TOOLS, question, whole};
use crate::gateway::{Asking, Gateway, Reply, Upstream, table, text_at};
use crate::mcp::send_at;

/// Who calls a function of the prefab `order-prefab`.
#[derive(Debug, Clone, Copy)]
enum Caller {
    /// A program at `/v1/prefabs/{id}/execute`
    Program,
    /// A host at `/mcp`
    Host,
    /// A model in a chat request
    Model,
}

const CALLERS: [Caller; 3] = [Caller::Program, Caller::Host, Caller::Model];

const ONCE: (&str, &str) = ("idempotency-key", "once");

fn config(model: &Upstream) -> String {
    [&table("up", "openai-chat", model), TOOLS, LOCAL].concat()
}

/// A model that calls its one tool, and finishes after the result.
fn model(arguments: &'static str) -> Upstream {
    Upstream::start([calls_offered(arguments), whole("Done.", &[])])
}

impl Caller {
    /// Sends a request that may be repeated.
    fn ask(self, gateway: &Gateway, function: &str, arguments: &str) -> Asking {
        let parameters = Json::parse(arguments).unwrap();
        match self {
            Caller::Program => {
                let body = object! {"function": function, "parameters": parameters}.compact();
                let path = "/v1/prefabs/order-prefab/execute";
                gateway.ask("POST", path, &[ONCE], body.as_bytes())
            }
            Caller::Host => {
                let call = object! {
                    "prefab_id": "order-prefab", "version": "1.0.0", "function_name": function,
                    "parameters": parameters
                };
                let params = object! {"name": "call_prefab_function", "arguments": call};
                send_at(gateway, "/mcp", &[ONCE], "tools/call", params)
            }
            Caller::Model => {
                let wanted = format!("order-prefab/{function}");
                let headers = [ONCE, ("toolwright-tools", &wanted)];
                gateway.ask("POST", CHAT, &headers, question(false, "").as_bytes())
            }
        }
    }

    /// Returns what the caller is told about the call.
    fn told(self, asking: Asking, model: &Upstream) -> String {
        let answer = asking.answer().ok();
        match self {
            Caller::Program | Caller::Host => answer.text(),
            Caller::Model => model.last().text(),
        }
    }
}

#[test]
fn an_approval_within_a_published_plan_is_refused_by_name() {
    const TO: &str = r#"{"to":"e.txt"}"#;
    for caller in CALLERS {
        let model = model(TO);
        let gateway = Gateway::start(&config(&model));
        std::fs::write(gateway.file("a.txt"), "α").unwrap();
        publish_plan(&gateway, "copy", COPY);
        let told = caller.told(caller.ask(&gateway, "copy", TO), &model);
        let refusal = "The step 'write' failed: order-prefab/copy cannot call write_file: \
                       it needs the approval of a person";
        assert!(told.contains(refusal), "{caller:?}: {told}");
        assert!(!gateway.file("e.txt").exists(), "{caller:?}");
    }
}

#[test]
fn an_interrupted_effect_of_a_published_plan_is_refused_as_uncertain_by_name() {
    for caller in CALLERS {
        let model = model("{}");
        let (_never, hanging) = Reply::after(done());
        let shop = Upstream::start([hanging, done()]);
        let gateway = Gateway::start(&config(&model));
        publish_order(&gateway, &shop);
        let asking = caller.ask(&gateway, "order", "{}");
        shop.until_received(1);
        let gateway = gateway.crash(&config(&model));
        drop(asking);
        for _ in 0..2 {
            let told = caller.told(caller.ask(&gateway, "order", "{}"), &model);
            let refusal = "The step 'pay' failed: This call of shop-prefab/pay was started before and \
                           interrupted, and it is unknown whether it had its effect";
            assert!(told.contains(refusal), "{caller:?}: {told}");
            if let Caller::Program = caller {
                let told = Json::parse(&told).unwrap();
                assert_eq!(text_at(&told, "/error/error_code"), "UNCERTAIN");
            }
            assert_eq!((calls(&shop, "pay"), calls(&shop, "look")), (1, 0), "{caller:?}");
        }
    }
}

#[test]
fn a_repeated_call_after_a_kill_repeats_no_effect_of_a_published_plan_and_reads_again() {
    let plan = r#"{"plan":"1","steps":{"before":{"tool":"shop-prefab/look"},
        "pay":{"tool":"shop-prefab/pay","after":["before"]},
        "look":{"tool":"shop-prefab/look","after":["pay"]}},"outputs":{"paid":{"$from":"pay/paid"}}}"#;
    for caller in CALLERS {
        let model = model("{}");
        let (_never, hanging) = Reply::after(done());
        let paid = Reply::json(200, r#"{"paid":"in full"}"#);
        let shop = Upstream::start([done(), paid, hanging, done(), done()]);
        let gateway = Gateway::start(&config(&model));
        publish_shop(&gateway.data(), &shop, "Does it.");
        publish_plan(&gateway, "order", plan);
        let asking = caller.ask(&gateway, "order", "{}");
        shop.until_received(3);
        let gateway = gateway.crash(&config(&model));
        drop(asking);
        for _ in 0..2 {
            let told = caller.told(caller.ask(&gateway, "order", "{}"), &model);
            assert!(told.contains("in full"), "{caller:?}: {told}");
            assert_eq!((calls(&shop, "pay"), calls(&shop, "look")), (1, 4), "{caller:?}");
        }
    }
}
