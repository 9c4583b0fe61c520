"""Where the measured data come from, in code."""
