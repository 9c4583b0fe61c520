"""`plt.plot(...)` and all other functions do nothing; `subplots` gives as many axes as were asked for."""

import numpy as np

from . import Nothing, rcParams, say  # noqa: F401 - plt.rcParams is used


def subplots(nrows=1, ncols=1, *, squeeze=True, **options):
    say()
    axes = np.empty((nrows, ncols), dtype=object)
    for place in np.ndindex(axes.shape):
        axes[place] = Nothing()
    axes = axes.squeeze() if squeeze else axes
    return Nothing(), axes[()]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()
