"""`python -m kernelcourse` and the command `kernelcourse` are the same program."""

from kernelcourse.course.cli import main as main

if __name__ == "__main__":
    raise SystemExit(main())
