//! Parses the parameters of a tool.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Pat, PatType, Type, TypeReference};

use crate::docs;

/// A parameter, by its kind.
pub(crate) enum Parameter {
    /// A value of the run's context
    Context {
        /// Its type, without the reference
        inner: Box<Type>,
        mutable: bool,
    },
    /// The scope of the call
    Scope { borrowed: bool },
    /// An argument of the model
    Argument(Box<Argument>),
}

/// An argument of the model.
pub(crate) struct Argument {
    /// The name in the schema
    pub(crate) name: String,
    pub(crate) span: Span,
    /// The type, without the reference
    pub(crate) inner: Type,
    /// Whether the function takes a reference to it
    pub(crate) borrowed: bool,
    pub(crate) description: Option<String>,
    pub(crate) default: Option<Expr>,
    /// Attributes that restrict the schema
    pub(crate) schemars: Vec<Attribute>,
}

impl Parameter {
    /// Parses a parameter, and removes attributes that Rust does not know.
    pub(crate) fn take(typed: &mut PatType) -> Result<Parameter, Error> {
        let mut attributes = Attributes::default();
        for attribute in std::mem::take(&mut typed.attrs) {
            attributes.add(attribute, &mut typed.attrs)?;
        }
        match (attributes.context.take(), attributes.scope.take()) {
            (Some(context), Some(_)) => {
                Err(Error::new_spanned(context, "a parameter is #[context] or #[scope], not both"))
            }
            (Some(mark), None) => {
                attributes.refuse_for(&mark)?;
                context(&typed.ty)
            }
            (None, Some(mark)) => {
                attributes.refuse_for(&mark)?;
                Ok(Parameter::Scope { borrowed: matches!(*typed.ty, Type::Reference(_)) })
            }
            (None, None) => argument(typed, attributes),
        }
    }
}

/// The relevant attributes of a parameter.
#[derive(Default)]
struct Attributes {
    context: Option<Attribute>,
    scope: Option<Attribute>,
    default: Option<Attribute>,
    docs: Vec<Attribute>,
    schemars: Vec<Attribute>,
}

impl Attributes {
    fn add(&mut self, attribute: Attribute, others: &mut Vec<Attribute>) -> Result<(), Error> {
        let path = attribute.path();
        let place = if path.is_ident("context") {
            attribute.meta.require_path_only()?;
            &mut self.context
        } else if path.is_ident("scope") {
            attribute.meta.require_path_only()?;
            &mut self.scope
        } else if path.is_ident("default") {
            &mut self.default
        } else if docs::is_doc(&attribute) {
            self.docs.push(attribute);
            return Ok(());
        } else if path.is_ident("schemars") {
            self.schemars.push(attribute);
            return Ok(());
        } else if path.is_ident("serde") {
            let message = "a parameter has no serde attributes: rename it, give it a #[default(…)], \
                           or give it a type of its own with #[data]";
            return Err(Error::new_spanned(attribute, message));
        } else if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            let message = "a parameter of a tool is there or not: put #[cfg] on the function";
            return Err(Error::new_spanned(attribute, message));
        } else {
            others.push(attribute);
            return Ok(());
        };
        if place.is_some() {
            return Err(Error::new_spanned(attribute, "this attribute is given twice"));
        }
        *place = Some(attribute);
        Ok(())
    }

    /// Refuses attributes for the model on a parameter that the model does not see.
    fn refuse_for(&self, mark: &Attribute) -> Result<(), Error> {
        match self.default.iter().chain(&self.schemars).next() {
            Some(wrong) => {
                let mark = mark.path().get_ident().map(ToString::to_string).unwrap_or_default();
                let message = format!("a parameter with #[{mark}] does not come from the model");
                Err(Error::new_spanned(wrong, message))
            }
            None => Ok(()),
        }
    }
}

fn context(declared: &Type) -> Result<Parameter, Error> {
    match declared {
        Type::Reference(TypeReference { mutability, elem, .. }) => {
            refuse_impl(elem)?;
            Ok(Parameter::Context { inner: elem.clone(), mutable: mutability.is_some() })
        }
        other => {
            let message = "#[context] is shared with other calls: take `&T` to read it or `&mut T` \
                           to change it";
            Err(Error::new_spanned(other, message))
        }
    }
}

fn argument(typed: &PatType, attributes: Attributes) -> Result<Parameter, Error> {
    let Pat::Ident(pattern) = &*typed.pat else {
        let message = "a parameter of a tool needs a name, which the model will see: write \
                       `name: Type` and take it apart in the body";
        return Err(Error::new_spanned(&typed.pat, message));
    };
    if pattern.by_ref.is_some() || pattern.subpat.is_some() {
        let message = "a parameter of a tool is a plain name: write `name: Type`";
        return Err(Error::new_spanned(pattern, message));
    }
    refuse_impl(&typed.ty)?;
    let (inner, borrowed) = match &*typed.ty {
        Type::Reference(TypeReference { mutability: Some(_), .. }) => {
            let message = "an argument of the model cannot be `&mut`: take it by value, or mark it \
                           #[context] if it comes from the run's context";
            return Err(Error::new_spanned(&typed.ty, message));
        }
        Type::Reference(TypeReference { lifetime: Some(lifetime), .. }) => {
            let message = "an argument lives as long as its call: leave the lifetime out";
            return Err(Error::new_spanned(lifetime, message));
        }
        Type::Reference(reference) => ((*reference.elem).clone(), true),
        other => (other.clone(), false),
    };
    refuse_reference(&inner)?;
    Ok(Parameter::Argument(Box::new(Argument {
        name: pattern.ident.unraw().to_string(),
        span: typed.ty.span(),
        inner,
        borrowed,
        description: docs::description(&attributes.docs),
        default: attributes.default.as_ref().map(value).transpose()?,
        schemars: attributes.schemars,
    })))
}

fn value(attribute: &Attribute) -> Result<Expr, Error> {
    attribute.parse_args().map_err(|_| {
        let message = "a default has a value: write #[default(…)] with an expression of the \
                       parameter's type";
        Error::new_spanned(attribute, message)
    })
}

pub(crate) fn refuse_impl(declared: &Type) -> Result<(), Error> {
    let is_impl = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "impl");
    let message = "a tool has one schema, so its parameters have types of their own: name the type \
                   in place of `impl Trait`";
    refuse(declared, &is_impl, message)
}

fn refuse_reference(declared: &Type) -> Result<(), Error> {
    let is_reference =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '&');
    let message = "an argument owns its data: write `String` for `&str`, `Vec<T>` for `&[T]`";
    refuse(declared, &is_reference, message)
}

/// Refuses a type that contains a token.
fn refuse(declared: &Type, wrong: &dyn Fn(&TokenTree) -> bool, message: &str) -> Result<(), Error> {
    match find(declared.to_token_stream(), wrong) {
        Some(span) => Err(Error::new(span, message)),
        None => Ok(()),
    }
}

/// Returns the position of a token.
fn find(tokens: TokenStream, wanted: &dyn Fn(&TokenTree) -> bool) -> Option<Span> {
    tokens.into_iter().find_map(|token| match &token {
        TokenTree::Group(group) => find(group.stream(), wanted),
        token => wanted(token).then(|| token.span()),
    })
}
