"""Where the work of a sweep is done. Results are the same wherever that is.

    worker     what workers are, and what is done in a worker before its first piece of work
    local      this process, or processes of this machine
    cluster    the workers of a Dask cluster, on any number of machines
    census     what the machines of a cluster have, and whether they agree

A piece of work is a function of a module with arguments that can be pickled. A worker may die: its work is
handed out again. Work after which the worker was dead every time raises `WorkerDiedError` where its result
is asked for.
"""

from __future__ import annotations
