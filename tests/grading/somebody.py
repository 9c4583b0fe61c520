"""Run Python as an unprivileged user, for tests that run as root."""

import os
import subprocess
import sys
from pathlib import Path

from kernelcourse.course.sandbox import find_bubblewrap

WHO = 12345


def run_as_somebody(*arguments, sees=(), owns=()):
    """Run the interpreter where that user can read it, our library and some paths, and write to other paths.

    If root's own folders are closed to everybody, they are replaced by empty ones that contain just these paths.
    """
    visible = {str(path) for path in (*sees, sys.base_prefix, sys.prefix, Path(__file__).parents[2] / "kernelcourse")}
    owned = {str(path) for path in owns}
    for path in owned:
        for folder, _, files in os.walk(path):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                os.chown(name, WHO, WHO)
    outer = [find_bubblewrap(), "--dev-bind", "/", "/"]
    for root in sorted({f"/{Path(path).parts[1]}" for path in visible | owned}):
        if os.stat(root).st_mode & 0o5 != 0o5 or root == "/tmp":
            outer += ["--perms", "0755", "--tmpfs", root]
    made = set()
    for path in sorted(visible | owned):
        for parent in reversed(Path(path).parents):
            if str(parent) not in made and str(parent).startswith(("/root", "/tmp")) and len(parent.parts) > 2:
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
