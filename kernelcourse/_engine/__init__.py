"""What makes the library fast: twins of definitions, in modules that only `kernelcourse.seam` knows by name."""
