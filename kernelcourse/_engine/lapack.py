"""scipy's BLAS and LAPACK, called with the GIL released."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


def call(routine: str, *arguments: Any) -> None:
    """A routine by its name, "dgemm" or "dpotrf", its arguments in the order of its documentation.

    Letters are bytes, numbers are copied, arrays and ctypes numbers may be changed. Nothing is checked: arrays have to
    be of the right kind, by columns, and as large as the numbers say.

    >>> y = np.array([1.0, 1.0])
    >>> call("daxpy", 2, 3.0, np.array([1.0, 2.0]), 1, y, 1)
    >>> y
    array([4., 7.])
    """
    _function(routine)(*map(_address, arguments))


def _address(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, int):
        argument = ctypes.c_int(argument)
    elif isinstance(argument, float):
        argument = ctypes.c_double(argument)
    return ctypes.byref(argument)


@cache
def _function(routine: str) -> Callable[..., None]:
    from scipy.linalg import cython_blas, cython_lapack

    capsules = cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__
    capsule = ctypes.py_object(capsules[routine])
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetPointer.restype = ctypes.c_char_p, ctypes.c_void_p
    address = api.PyCapsule_GetPointer(capsule, ctypes.c_char_p(api.PyCapsule_GetName(capsule)))
    return ctypes.CFUNCTYPE(None)(address)  # which releases the GIL while the routine runs
