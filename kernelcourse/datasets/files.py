"""Read the files in `kernelcourse/data`, and detect damaged ones."""

import hashlib
import re
from importlib.resources import files


def hashes() -> dict[str, str]:
    """The SHA-256 of each file's text, as stated in `kernelcourse/data/README.md`."""
    readme = files("kernelcourse").joinpath("data", "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\S+)` \| ([0-9a-f]{64}) \|$", readme, re.MULTILINE))


def read_text(name: str) -> str:
    """The text of a file in `kernelcourse/data`; the error names a file that is missing or was changed."""
    import gzip
    import zlib

    content = files("kernelcourse").joinpath("data", name).read_bytes()
    try:
        content = gzip.decompress(content) if name.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"kernelcourse/data/{name} is damaged: {error}. Install kernelcourse again.") from error
    if hashlib.sha256(content).hexdigest() != hashes()[name]:
        raise ValueError(f"kernelcourse/data/{name} is damaged: its hash is wrong. Install kernelcourse again.")
    return content.decode()
