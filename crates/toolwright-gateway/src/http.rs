//! The port: listening, reading within limits, draining, reloading.
