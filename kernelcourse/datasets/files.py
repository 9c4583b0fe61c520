"""Reading the files of `kernelcourse/data`, and noticing a damaged one."""

import hashlib
import re
from importlib.resources import files


def hashes() -> dict[str, str]:
    """The SHA-256 of each file's text, which `kernelcourse/data/README.md` states."""
    readme = files("kernelcourse").joinpath("data", "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\S+)` \| ([0-9a-f]{64}) \|$", readme, re.MULTILINE))


def read_text(name: str) -> str:
    """The text of a file of `kernelcourse/data`; an error that names the file if it is missing or was changed."""
    import gzip
    import zlib

    content = files("kernelcourse").joinpath("data", name).read_bytes()
    try:
        content = gzip.decompress(content) if name.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"kernelcourse/data/{name} is damaged: {error}. Install kernelcourse again.") from error
    if hashlib.sha256(content).hexdigest() != hashes()[name]:
        raise ValueError(f"kernelcourse/data/{name} is damaged: it has another hash. Install kernelcourse again.")
    return content.decode()
