"""Unmodified agent clients, run headless through the gateway against strict fake upstreams.

`clients.py` is the command. `registry` lists the clients, `drivers` and `cli` run them, `scenario`
has the script of the model, `model` is the model behind a fake upstream, `history` checks that a
request contains the earlier turns, and `vendors` reads requests and writes replies in each
vendor's dialect. Addresses, credentials and model names come from `gateway.upstreams`, the types
that validate a request from `dialects`.
"""
