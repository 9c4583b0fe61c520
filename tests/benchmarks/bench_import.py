"""Start-up: `import kernelcourse` against the `import scipy.linalg` that it needs. The goal is a ratio up to 1.5."""

from tests.benchmarks.harness import Row, compare, fresh_python


def run() -> list[Row]:
    return [
        compare(
            "import kernelcourse",
            fresh_python("import kernelcourse"),
            "import scipy.linalg",
            fresh_python("import scipy.linalg"),
            repeats=15,
            note="a ratio of at least 0.67 is the goal",
        )
    ]
