"""From a graph for one instance to the graph for a whole batch.

    batch                  `batch(graph, ...)`: nodes, loops and branches
    lanes                  batch axes, and what the rules share
    rules, tensor_rules    for each op, the same op on a batch

- Loops and branches are traced on one instance and batched afterwards, with masks where instances differ.
- Where trip counts differ, a finished lane keeps its carries and evaluates the body at a running lane's
  inputs. So no lane meets a NaN or an index that no instance asked for, forward or back.
"""

from __future__ import annotations
