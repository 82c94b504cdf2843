//! Expands the settings of a tool, from its options.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;

use crate::options::{Effect, Envelope, Options};
use crate::parameter::Parameter;
use crate::parse::Function;

/// Expands the settings of the tool.
pub(super) fn settings(function: &Function) -> TokenStream {
    let options = &function.options;
    let home = &options.home();
    let need = function.parameters.iter().find_map(|parameter| match parameter {
        Parameter::Context { inner, mutable, .. } => {
            let exclusive = mutable.then(|| quote!(.exclusive()));
            Some(quote!(.with_need(#home::context::Need::of::<#inner>() #exclusive)))
        }
        _ => None,
    });
    let effect = options.effect.map(|effect| {
        let effect = match effect {
            Effect::ReadOnly => quote!(None),
            Effect::Keyed => quote!(Keyed),
        };
        quote!(.with_effect(#home::Effect::#effect))
    });
    let envelope = options.envelope.map(|envelope| {
        let envelope = match envelope {
            Envelope::Data => quote!(Data),
            Envelope::Result => quote!(Result),
        };
        quote!(.with_envelope(#home::Envelope::#envelope))
    });
    let numbers = numbers(options);
    quote!(#need #effect #envelope #numbers)
}

fn numbers(options: &Options) -> TokenStream {
    let home = &options.home();
    let deadline = options.deadline.map(time).map(|time| quote!(.with_deadline(#time)));
    let cache =
        options.cache.map(|(lifetime, _)| time(lifetime)).map(|time| quote!(.with_cache(#time)));
    let retries = options.retries.map(|max| quote!(.with_retry(#home::Retry::new(#max))));
    let concurrency = options.concurrency.map(|calls| quote!(.with_concurrency(#calls)));
    let budget = options.budget.map(|bytes| quote!(.with_budget(#bytes)));
    let version = options.version.as_ref().map(|text| quote!(.with_version(#text)));
    let hidden = options.hidden.iter().map(|(name, _)| name);
    let hidden = (!options.hidden.is_empty()).then(|| quote!(.with_hidden([#(#hidden),*])));
    quote!(#version #deadline #cache #retries #concurrency #budget #hidden)
}

fn time(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::std::time::Duration::new(#seconds, #nanos))
}
