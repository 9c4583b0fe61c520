"""Submissions that try to get more than they earn, or to do harm. Each module contains one family."""

from . import channels, files, notebooks, patching, processes, values
from .submission import Attack

FAMILIES: dict[str, list[Attack]] = {
    "the notebook as a file": notebooks.ATTACKS,
    "functions replaced by others": patching.ATTACKS,
    "answers that lie": values.ATTACKS,
    "files": files.ATTACKS,
    "processes, threads, signals": processes.ATTACKS,
    "connections to the outside, and resources": channels.ATTACKS,
}
ATTACKS = [attack for family in FAMILIES.values() for attack in family]
