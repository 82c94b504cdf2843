//! Values that tools work with and no model sees: at most one of each type, shared by a run.
//!
//! A tool that takes `&T` reads beside others; one that takes `&mut T` waits until it is alone.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The context of a run. Clones share the values.
#[derive(Clone, Default)]
pub struct Context {
    values: Arc<HashMap<TypeId, Slot>>,
}

#[derive(Clone)]
struct Slot {
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

/// A type that a tool needs in the context of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    id: TypeId,
    name: &'static str,
    exclusive: bool,
}

impl Need {
    /// The need for a type, to read it.
    pub fn of<T: Any + Send + Sync>() -> Need {
        Need { id: TypeId::of::<T>(), name: type_name::<T>(), exclusive: false }
    }

    /// To change it as well: of the calls of one turn that share it, each waits for those before it.
    #[must_use]
    pub fn exclusive(mut self) -> Need {
        self.exclusive = true;
        self
    }

    /// Whether two calls cannot have what they need at the same time.
    pub(crate) fn excludes(&self, other: &Need) -> bool {
        self.id == other.id && (self.exclusive || other.exclusive)
    }

    /// The name of the type.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A tool asked for a type that the context does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the context has no value of type {0}; add one with Context::with")]
pub struct MissingContext(pub &'static str);

impl Context {
    /// Nothing.
    pub fn new() -> Context {
        Context::default()
    }

    /// With a value; one of the same type is replaced.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Context {
        let slot = Slot { name: type_name::<T>(), value: Arc::new(Arc::new(RwLock::new(value))) };
        Arc::make_mut(&mut self.values).insert(TypeId::of::<T>(), slot);
        self
    }

    /// Adds the values of another context, which go before those of the same types here.
    pub(crate) fn extend(&mut self, other: &Context) {
        if !other.values.is_empty() {
            let values = other.values.iter().map(|(id, slot)| (*id, slot.clone()));
            Arc::make_mut(&mut self.values).extend(values);
        }
    }

    /// Whether a tool's need is met.
    pub fn meets(&self, need: &Need) -> bool {
        self.values.contains_key(&need.id)
    }

    /// The value of a type, to read, as soon as nobody writes it.
    pub async fn read<T: Any + Send + Sync>(
        &self,
    ) -> Result<OwnedRwLockReadGuard<T>, MissingContext> {
        Ok(self.lock::<T>()?.read_owned().await)
    }

    /// The value of a type, to change, as soon as nobody else has it.
    pub async fn write<T: Any + Send + Sync>(
        &self,
    ) -> Result<OwnedRwLockWriteGuard<T>, MissingContext> {
        Ok(self.lock::<T>()?.write_owned().await)
    }

    /// The lock of a type.
    pub fn lock<T: Any + Send + Sync>(&self) -> Result<Arc<RwLock<T>>, MissingContext> {
        self.values
            .get(&TypeId::of::<T>())
            .and_then(|slot| slot.value.downcast_ref::<Arc<RwLock<T>>>())
            .cloned()
            .ok_or(MissingContext(type_name::<T>()))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.values.values().map(|slot| slot.name).collect();
        names.sort_unstable();
        formatter.debug_tuple("Context").field(&names).finish()
    }
}
