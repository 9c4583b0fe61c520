"""What a student's answer is compared with, and what the student is told.

An assignment's catalogue (`kernelcourse.checking.dual_representation`, say) lists its pieces, each with a reference,
inputs to try and the usual mistakes. A notebook makes its `check` from the catalogue and passes the student's functions
by name:

>>> from kernelcourse.checking import catalogue
>>> check = catalogue("dual-representation").checks(seed=1)
>>> check(gram_matrix=lambda Phi: Phi @ Phi.T)
✓ gram_matrix: right on 9 inputs (1 of 1 point)
"""

from .cases import Case
from .checks import Checks, NoChecks, catalogue, checks_in
from .piece import Claim, Mistake, Piece
from .report import CheckFailed, Partial, Passed

__all__ = [
    "Case",
    "CheckFailed",
    "Checks",
    "Claim",
    "Mistake",
    "NoChecks",
    "Partial",
    "Passed",
    "Piece",
    "catalogue",
    "checks_in",
]
