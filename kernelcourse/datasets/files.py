"""Reading the files of `kernelcourse/data`, and noticing a damaged one."""

from __future__ import annotations

import hashlib
from importlib.resources import files

# SHA-256 of each file's text; of the unpacked text where it is packed, because compressors differ.
HASHES = {
    "co2.csv": "b68a4760f8b852b673f3acdd3276c3d3ad7f66f5b2f866f4bd4b6cc0fd9fcd98",
    "digits.csv.gz": "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
    "mutag.tsv": "3fea37880a5945521f276be071c36ed74f08731cb68b1e187f29e34c014a772c",
    "penguins.csv": "f204db2c753b0937caac3cb35258562c14f073e4bbc76be24b4c51ce22767a93",
    "scipy_summaries.csv": "99d9612b5919f1690412fa47a7737994fffa9ba5eb93caf7e1bf708addb942e8",
    "small_texts.txt": "2ac2e7cf706d460507830423774af68a147f663512d83cc9c34a802e18befc72",
    "southern_women.csv": "c447c4372d6063f619da8c3182b52e05113da0399bd34c8253f77ca72593c515",
    "splice_sites.csv.gz": "4086cef654d5c49d6bbd33fc0743993779d4df140131b9c9af683c00ca63f301",
    "sunspots.csv": "f67889b1d9002cd5227f0e0ef54e35b419cdd85a31279adef6f73fb41e5c0a9b",
}


def read_text(name: str) -> str:
    """The text of a file of `kernelcourse/data`; an error that names the file if it is missing or was changed."""
    import gzip
    import zlib

    content = files("kernelcourse").joinpath("data", name).read_bytes()
    try:
        content = gzip.decompress(content) if name.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"kernelcourse/data/{name} is damaged: {error}. Install kernelcourse again.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != HASHES[name]:
        raise ValueError(
            f"kernelcourse/data/{name} is damaged: its SHA-256 is {found}, expected {HASHES[name]}. "
            "Install kernelcourse again."
        )
    return content.decode()
