//! Define tools, hold them, call them.
