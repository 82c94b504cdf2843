//! Expands a call: reads the arguments, locks the context, runs the function, converts its result.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Path, ReturnType, Type};

use super::{located, own, own_parameter};
use crate::parameter::Parameter;
use crate::parse::Function;

/// Expands a call: reads the arguments, locks the context, runs the function, converts its result.
pub(super) fn body(function: &Function) -> TokenStream {
    let (item, home) = (&function.item, &function.options.home());
    let (scope, arguments, returned) = (own("scope"), own("arguments"), own("returned"));
    let read = read(function, &arguments);
    let bind = function.parameters.iter().find_map(|parameter| match parameter {
        Parameter::Context { inner, mutable } => {
            Some(bind(home, inner, *mutable, item.sig.asyncness.is_some()))
        }
        _ => None,
    });
    let mut index = 0;
    let passed: Vec<TokenStream> =
        function.parameters.iter().map(|parameter| pass(parameter, &mut index)).collect();
    let ident = &item.sig.ident;
    let wait = item.sig.asyncness.map(|_| quote!(.await));
    let run = quote!(let #returned = #ident(#(#passed),*) #wait;);
    let end = end(home, &item.sig.output, &returned);
    let asyncness = item.sig.asyncness.map(|_| quote!(async move));
    quote!(#asyncness { let _ = &#scope; #read #bind #run #end })
}

/// Reads all arguments, so that all errors are reported at once.
fn read(function: &Function, arguments: &Ident) -> TokenStream {
    let home = &function.options.home();
    let count = function.arguments().count();
    if count == 0 {
        return quote!(let _ = #arguments;);
    }
    let variables: Vec<Ident> = (0..count).map(|index| own(&format!("argument_{index}"))).collect();
    let parameters: Vec<Ident> = (0..count).map(own_parameter).collect();
    quote! {
        let mut #arguments = #home::macros::Arguments::new(#arguments);
        let (#(::std::option::Option::Some(#variables),)*) = (#(#arguments.take(&#parameters),)*)
        else {
            return ::std::result::Result::Err(#arguments.refused());
        };
    }
}

/// Locks the context, exclusively or shared.
fn bind(home: &Path, inner: &Type, mutable: bool, asynchronous: bool) -> TokenStream {
    let (scope, guard) = (own("scope"), own("guard"));
    let (verb, mutability) = if mutable { ("write", Some(quote!(mut))) } else { ("read", None) };
    let (verb, wait) = if asynchronous {
        (format_ident!("{verb}"), Some(quote!(.await)))
    } else {
        (format_ident!("blocking_{verb}"), None)
    };
    let there = located(home, inner.span());
    quote_spanned! {inner.span()=>
        let #mutability #guard = #there::macros::context::#verb::<#inner>(&#scope) #wait?;
    }
}

/// Expands a parameter as an argument of the function.
fn pass(parameter: &Parameter, index: &mut usize) -> TokenStream {
    let (scope, guard) = (own("scope"), own("guard"));
    match parameter {
        Parameter::Context { mutable: true, .. } => quote!(&mut *#guard),
        Parameter::Context { mutable: false, .. } => quote!(&*#guard),
        Parameter::Scope { borrowed: true } => quote!(&#scope),
        Parameter::Scope { borrowed: false } => quote!(#scope),
        Parameter::Argument(argument) => {
            let variable = own(&format!("argument_{index}"));
            *index += 1;
            let inner = &argument.inner;
            if argument.borrowed {
                quote!(::std::borrow::Borrow::<#inner>::borrow(&#variable))
            } else {
                quote!(#variable)
            }
        }
    }
}

/// Converts the returned value by its type.
fn end(home: &Path, output: &ReturnType, returned: &Ident) -> TokenStream {
    let span = match output {
        ReturnType::Default => Span::mixed_site(),
        ReturnType::Type(_, declared) => declared.span(),
    };
    // Errors are reported at the position of a name, and that of a hygienic one is the attribute.
    let (value, error) = (Ident::new("__value", span), Ident::new("__error", span));
    let there = located(home, span);
    let written =
        quote_spanned!(span=> (&&#there::macros::Probe::of(&#value)).way().output(#value));
    let failed =
        quote_spanned!(span=> (&&&#there::macros::Probe::of(&#error)).cause().error(#error));
    quote! {
        #[allow(unused_imports)]
        use #home::macros::returned::{
            Boxed as _, Converted as _, Direct as _, Plain as _, Serialized as _, Shown as _,
            Splittable as _,
        };
        match (&&#home::macros::Probe::of(&#returned)).shape().split(#returned) {
            ::std::result::Result::Ok(#value) => #written,
            ::std::result::Result::Err(#error) => ::std::result::Result::Err(#failed),
        }
    }
}
