"""Run Python as an unprivileged user, for tests that run as root."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from kernelcourse.course.sandbox import find_bubblewrap

WHO = 12345


def run_as_somebody(*arguments, sees=(), owns=()):
    """Run the interpreter where that user can read it, our library and some paths, and write to other paths.

    If root's own folders are closed to everybody, they are replaced by empty ones that contain just these paths. So are
    folders for temporary files, where pytest's are closed.
    """
    visible = {str(path) for path in (*sees, sys.base_prefix, sys.prefix, Path(__file__).parents[2] / "kernelcourse")}
    owned = {str(path) for path in owns}
    for path in owned:
        for folder, _, files in os.walk(path):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(name, WHO, WHO)
    outer = [find_bubblewrap(), "--dev-bind", "/", "/"]
    paths = {Path(path) for path in visible | owned}
    closed = {root for root in (Path(f"/{path.parts[1]}") for path in paths) if os.stat(root).st_mode & 0o5 != 0o5}
    replaced = {root for root in {*closed, Path("/tmp"), Path(gettempdir())} if any(root in p.parents for p in paths)}
    for root in sorted(replaced):
        outer += ["--perms", "0755", "--tmpfs", str(root)]
    made = set()
    for path in sorted(visible | owned):
        for parent in reversed(Path(path).parents):
            if str(parent) not in made and replaced.intersection(parent.parents):
                outer += ["--perms", "0755", "--dir", str(parent)]
                made.add(str(parent))
        outer += ["--bind" if path in owned else "--ro-bind", path, path]
    user = ["setpriv", f"--reuid={WHO}", f"--regid={WHO}", "--clear-groups"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": "/"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if owned:
        environment |= {"TMPDIR": min(owned), "HOME": min(owned)}
    command = [*outer, *user, sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")
