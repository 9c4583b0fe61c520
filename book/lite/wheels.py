"""Wheels for the browser that no registry has: numpy from a conda archive, stand-ins, and the course's own library."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EPOCH = (1980, 1, 1, 0, 0, 0)  # no time stamps in the files
ANY = "py3-none-any"
PYODIDE = "cp312-cp312-pyodide_2024_0_wasm32"

# files of numpy for tests and compilers; numpy itself imports `_multiarray_tests`
LEFT_OUT = re.compile(
    r"/tests/|^numpy/f2py/|\.(pyi|h|a)$|/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$"
    r"|/_simd\.|/_(?!multiarray)\w+_tests\."
)

STUBS = re.compile(r"^jedi/third_party/(django-stubs|typeshed/third_party)/|^jedi-[^/]*/RECORD$")

# This numpy calls backtrace(), which Pyodide does not have: the first large temporary (256 KiB or more) would crash the
# kernel. numpy inspects its callers to learn whether it may reuse a temporary; the answer 0 means "unknown", and it
# reuses none. So here is a WebAssembly side module with one function, backtrace(i32, i32) -> i32, that returns 0.
BACKTRACE = (
    b"\0asm\1\0\0\0"  # magic number, version 1
    b"\x00\x0f\x08dylink.0\x01\x04\0\0\0\0"  # a side module that needs no memory and no table
    b"\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f"  # the type (i32, i32) -> i32
    b"\x03\x02\x01\x00"  # one function of that type
    b"\x07\x0d\x01\x09backtrace\x00\x00"  # exported by this name
    b"\x0a\x06\x01\x04\x00\x41\x00\x0b"  # its body: i32.const 0, end
)
# numpy's own hook for distributors, run before its compiled parts are loaded.
LOAD_BACKTRACE = """import ctypes
from pathlib import Path

ctypes.CDLL(str(Path(__file__).with_name("backtrace_stub.so")), mode=ctypes.RTLD_GLOBAL)
"""


def write_wheel(folder: Path, name: str, version: str, tag: str, files: dict[str, bytes]) -> Path:
    """A wheel with these files; metadata are added if there are none."""
    distribution = name.replace("-", "_")
    info = f"{distribution}-{version}.dist-info"
    made = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: kernelcourse\nTag: {tag}\n".encode(),
    }
    path = folder / f"{distribution}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, content in sorted((made | files).items()):
            wheel.writestr(zipfile.ZipInfo(file, EPOCH), content, zipfile.ZIP_DEFLATED)
    return path


def numpy_wheel(folder: Path, npm_archive: Path) -> Path:
    """numpy from the conda archive inside the npm archive, with the function that Pyodide lacks."""
    files = {"numpy/backtrace_stub.so": BACKTRACE, "numpy/_distributor_init_local.py": LOAD_BACKTRACE.encode()}
    with tarfile.open(npm_archive) as outer:
        (inner,) = (member for member in outer.getmembers() if member.name.endswith(".tar.gz"))
        conda = outer.extractfile(inner).read()  # type: ignore[union-attr]
    with tarfile.open(fileobj=io.BytesIO(conda)) as archive:
        for member in archive.getmembers():
            _, found, name = member.name.partition("lib/python3.12/site-packages/")
            if found and member.isfile() and not LEFT_OUT.search(name):
                files[name] = archive.extractfile(member).read()  # type: ignore[union-attr]
    return write_wheel(folder, "numpy", "2.0.1", PYODIDE, files)


def shipped(wheel: Path, folder: Path) -> Path:
    """A copy of a wheel, without the stubs for Django and others that jedi ships for completing names."""
    target = folder / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as part:
        for file in whole.infolist():
            if not STUBS.search(file.filename):
                part.writestr(zipfile.ZipInfo(file.filename, EPOCH), whole.read(file), zipfile.ZIP_DEFLATED)
    return target


def empty_wheel(folder: Path, name: str) -> Path:
    """A wheel without a module: the kernel asks for a package of this name at every start. `import` still says that it
    is missing."""
    return write_wheel(folder, name, "1.0.0", ANY, {})


def standin_wheel(folder: Path) -> Path:
    """A stand-in for matplotlib, which draws nothing and says so in one line."""
    source = HERE / "standin"
    files = {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*.py")}
    return write_wheel(folder, "matplotlib", "0.0.0", ANY, files)


def course_wheel(folder: Path) -> Path:
    """The course's library, without its compiled loops, which are for this machine."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    portable = os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}
    done = subprocess.run(build, cwd=ROOT, env=portable, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the library's wheel cannot be built:\n{done.stdout}{done.stderr}")
    (path,) = folder.glob("kernelcourse-*.whl")
    return path
