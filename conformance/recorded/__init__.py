"""Recorded vendor traffic: the content of documents, extracted without the codecs, and compared."""
