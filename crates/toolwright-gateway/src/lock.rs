//! Locking, the same in all modules.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic: no holder leaves its data inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
