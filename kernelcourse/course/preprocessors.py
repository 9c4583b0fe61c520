"""What our course adds to nbgrader's own steps; named in nbgrader_config.py."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from .notebooks import give_stable_ids, strip_noise


class StableNotebook(NbGraderPreprocessor):
    """The last step of a release: nothing in the notebook depends on when, where or by whom it was made."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        give_stable_ids(nb)
        strip_noise(nb)
        return nb, resources
