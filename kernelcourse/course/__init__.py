"""The instructor's side: release and check assignments, start new ones. The command line is in `cli`."""

import sys

# nbformat imports jsonschema, which takes three seconds to build grammars for a kind of address that no notebook has.
# It does without them where they cannot be imported.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
