"""The cache of executed notebooks remembers outputs only.

Jupyter-cache finds a notebook by its code and returns its cells with the metadata that they had when they ran: a
caption or an alternative text edited since would be lost. Here the outputs come from the cache, the metadata from the
page.
"""

from __future__ import annotations

from functools import partialmethod

from jupyter_cache.cache.main import JupyterCacheBase
from sphinx.application import Sphinx

MERGE = JupyterCacheBase.merge_match_into_notebook


def setup(app: Sphinx) -> None:
    JupyterCacheBase.merge_match_into_notebook = partialmethod(MERGE, cell_meta=())
