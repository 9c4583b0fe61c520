"""Kernels as forks of one process that has imported what the pages import: a build spends those seconds only once."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

ENGINE = ("loops", "gram", "linalg", "svm", "steps", "search", "blocks", "features")
# Not matplotlib_inline: when imported, it looks for the kernel that it draws in.
IMPORTED = ["ipykernel.kernelapp", "ipykernel.debugger", "psutil", "tornado.platform.asyncio", "kernelcourse.plots"]
IMPORTED += ["matplotlib.backends.backend_svg", *(f"kernelcourse._engine.{name}" for name in ENGINE)]
IMPORTED += ["__main__"]  # book/build.py, which every fork would import again


def run_kernel(arguments: Sequence[str], environment: dict[str, str], folder: str) -> None:
    """What `python -m ipykernel_launcher` does, in a process that is already warm."""
    from ipykernel.kernelapp import IPKernelApp

    gc.freeze()  # what was imported stays, so that no kernel has to look for garbage in it
    os.setsid()  # signals to the kernel reach what it has started, and nothing else
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    IPKernelApp.launch_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
    atexit._run_exitfuncs()  # multiprocessing would not do this; the kernel has to close its files


class Fork:
    """A multiprocessing.Process with the methods of a subprocess.Popen."""

    stdin = stdout = stderr = None

    def __init__(self, context: Any, *arguments: Any) -> None:
        self.process = context.Process(target=run_kernel, args=arguments)
        self.process.start()
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


class ForkingProvisioner(LocalProvisioner):
    async def launch_kernel(self, cmd: list[str], *, env: dict[str, str], cwd: str, **others: Any) -> dict[str, Any]:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        self.process = Fork(context, cmd[cmd.index("ipykernel_launcher") + 1 :], env, cwd)
        self.pid = self.pgid = self.process.pid
        self.cwd = cwd
        return self.connection_info


class ForkingKernelManager(AsyncKernelManager):
    """Jupyter's own provisioner, except for where the process comes from."""

    async def _async_pre_start_kernel(self, **options: Any) -> tuple[list[str], dict[str, Any]]:
        self.kernel_id = str(uuid4())
        self.provisioner = ForkingProvisioner(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**options)
