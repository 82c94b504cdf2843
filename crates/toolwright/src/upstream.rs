//! Vendors over HTTP: where they are, who we are to them, and what is sent.
