//! Values that tools use and models do not see: at most one of each type, shared by the calls of a
//! run.
//!
//! Tools that take `&T` run concurrently; a tool that takes `&mut T` has exclusive access.

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
    /// Requires shared access to a value of this type.
    pub fn of<T: Any + Send + Sync>() -> Need {
        Need { id: TypeId::of::<T>(), name: type_name::<T>(), exclusive: false }
    }

    /// Requires exclusive access. Calls of one turn that need the value run one after another.
    #[must_use]
    pub fn exclusive(mut self) -> Need {
        self.exclusive = true;
        self
    }

    /// Whether two calls cannot run concurrently because of this need.
    pub(crate) fn excludes(&self, other: &Need) -> bool {
        self.id == other.id && (self.exclusive || other.exclusive)
    }

    /// Whether access is exclusive.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// The name of the type.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// The context has no value of a type that a tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the context has no value of type {0}; add one with Context::with")]
pub struct MissingContext(pub &'static str);

impl Context {
    /// Creates an empty context.
    pub fn new() -> Context {
        Context::default()
    }

    /// Adds a value; it replaces a value of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Context {
        let slot = Slot { name: type_name::<T>(), value: Arc::new(Arc::new(RwLock::new(value))) };
        Arc::make_mut(&mut self.values).insert(TypeId::of::<T>(), slot);
        self
    }

    /// Adds the values of another context, which replace values of the same types.
    pub(crate) fn extend(&mut self, other: &Context) {
        if !other.values.is_empty() {
            let values = other.values.iter().map(|(id, slot)| (*id, slot.clone()));
            Arc::make_mut(&mut self.values).extend(values);
        }
    }

    /// Whether the context has a value for a need.
    pub fn meets(&self, need: &Need) -> bool {
        self.values.contains_key(&need.id)
    }

    /// Locks the value of a type for shared access. Waits while it is locked exclusively.
    pub async fn read<T: Any + Send + Sync>(
        &self,
    ) -> Result<OwnedRwLockReadGuard<T>, MissingContext> {
        Ok(self.lock::<T>()?.read_owned().await)
    }

    /// Locks the value of a type for exclusive access. Waits while it is locked.
    pub async fn write<T: Any + Send + Sync>(
        &self,
    ) -> Result<OwnedRwLockWriteGuard<T>, MissingContext> {
        Ok(self.lock::<T>()?.write_owned().await)
    }

    /// Returns the lock of the value of a type.
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
