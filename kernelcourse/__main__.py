"""`python -m kernelcourse` and the command `kernelcourse` are the same program."""

from __future__ import annotations

from kernelcourse.course.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())
