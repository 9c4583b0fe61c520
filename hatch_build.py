"""Compiles the inner loops, kernelcourse/_engine/loops.c, when the package is built or installed.

They are plain C without Python's headers, so one library serves every version of Python. Where the system has no C
compiler, pip fetches one (Zig, about 90 MB) and removes it after the build. Where none works, the package is built
without the loops, and numpy does their work.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

ENGINE = Path("kernelcourse", "_engine")
FLAGS = ("-std=gnu11", "-O3", "-shared", "-fvisibility=hidden", "-fopenmp-simd")
FLAGS += ("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")  # none of these reorders sums
AVX2 = ("-mavx2", "-mfma")  # which nearly all x86-64 processors since 2013 have; their loops take half the time
ZIG = ("Linux x86_64", "Linux aarch64", "Darwin x86_64", "Darwin arm64", "Windows AMD64", "Windows ARM64")  # has wheels


def compilers() -> list[list[str]]:
    """The commands that compile C here, the system's first."""
    zig = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]  # by default, it compiles for this processor alone
    named = [shlex.split(os.environ.get("CC", "cc")), ["gcc"], ["clang"], zig]
    return [command for command in named if works([*command, "--version"])]


def works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:  # there is no such program
        return False


def compile_loops(compiler: list[str], source: Path, folder: Path) -> list[Path]:
    """The libraries: for every processor, and where it is x86-64, one that uses AVX2."""
    system = () if os.name == "nt" else ("-fPIC", "-lm")
    kinds: dict[str, tuple[str, ...]] = {"libloops.so": ()}
    if platform.machine().lower() in ("x86_64", "amd64"):
        kinds["libloops_avx2.so"] = AVX2
    for name, flags in kinds.items():
        command = [*compiler, *FLAGS, *flags, "-o", str(folder / name), str(source), *system]
        subprocess.run(command, check=True, capture_output=True, text=True)
    return [folder / name for name in kinds]


class CompiledLoops(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return [] if compilers() or f"{platform.system()} {platform.machine()}" not in ZIG else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source, failures = Path(self.root) / ENGINE / "loops.c", []
        self.folder = tempfile.TemporaryDirectory()
        for compiler in compilers():
            try:
                libraries = compile_loops(compiler, source, Path(self.folder.name))
            except (OSError, subprocess.CalledProcessError) as failure:
                failures.append(f"{compiler}: {getattr(failure, 'stderr', failure)}")
                continue
            if version == "editable":
                for path in libraries:  # moved into place, because a process may have loaded the old file
                    new = shutil.copy(path, source.with_name(f"{path.name}.new"))
                    os.replace(new, source.with_name(path.name))
            else:
                build_data["force_include"] |= {str(path): str(ENGINE / path.name) for path in libraries}
                build_data |= {"pure_python": False, "tag": f"py3-none-{next(sys_tags()).platform}"}
            return
        self.app.display_warning("\n".join(["no C compiler works, so the compiled loops are left out:", *failures]))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()
