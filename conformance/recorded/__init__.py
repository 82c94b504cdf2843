"""Recorded vendor traffic: what a document says, extracted without the codecs, and compared."""
