"""Unmodified agent clients, run headless through the gateway against strict fake upstreams.

`clients.py` is the command. `registry` lists the clients, `drivers` and `cli` run them, `scenario`
has what the scripted model says, `model` is the model behind a fake upstream, `history` checks what
a request carries of the earlier turns, and `vendors` reads requests and writes replies in each
vendor's dialect. Addresses, credentials and model names come from `gateway.upstreams`, the types
that judge a request from `dialects`.
"""
