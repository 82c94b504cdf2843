"""The running gateway between the vendors' SDKs and fake upstreams.

A cell is one client, one upstream, whole or streaming: a turn with two parallel calls, and one that
sends their results back. `clients/` has a driver for each dialect, `upstreams/` a vendor.
"""

from dialects import CHAT as DIALECTS

__all__ = ["DIALECTS"]
