//! A toolbox that is made when it is first used.

use std::ops::Deref;
use std::sync::LazyLock;

use toolwright_runtime::Toolbox;

/// A toolbox that is made when it is first used. Compiling schemas for the tools of the catalog alone would double the
/// memory of a gateway that nobody uses for tools.
pub(super) struct LazyToolbox(LazyLock<Toolbox, Box<dyn FnOnce() -> Toolbox + Send>>);

impl LazyToolbox {
    pub(super) fn new(make: impl FnOnce() -> Toolbox + Send + 'static) -> LazyToolbox {
        LazyToolbox(LazyLock::new(Box::new(make)))
    }
}

impl Default for LazyToolbox {
    fn default() -> LazyToolbox {
        LazyToolbox::new(Toolbox::default)
    }
}

impl Deref for LazyToolbox {
    type Target = Toolbox;

    fn deref(&self) -> &Toolbox {
        &self.0
    }
}
