"""The running gateway between the vendors' own SDKs and fake upstreams.

A cell is one client, one upstream, whole or streaming: a turn that calls two tools at once, and one
that sends their results back. `clients/` has a driver a dialect, `upstreams/` a vendor a dialect.
"""

from dialects import CHAT as DIALECTS

__all__ = ["DIALECTS"]
