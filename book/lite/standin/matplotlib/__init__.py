"""Offline, the browser has no matplotlib. Cells that draw still compute, and say once that they draw nothing."""

LINE = "This picture needs matplotlib, which is not part of this site. Everything else works without it."
_said_in = None  # the number of the last cell that printed the line


def say() -> None:
    """Print the line, once per cell."""
    global _said_in
    try:
        cell = get_ipython().execution_count  # type: ignore[name-defined]
    except NameError:
        cell = 0
    if cell != _said_in:
        _said_in = cell
        print(LINE)


class Nothing:
    """Every attribute and every call returns the object itself; a call says that no picture is drawn."""

    def __init__(self, *args, **options):
        pass

    def __getattr__(self, name):
        if name.startswith("_"):  # IPython looks for ways to show a value, numpy for ways to make an array of it
            raise AttributeError(name)
        return self

    def __call__(self, *args, **options):
        say()
        return self

    def __getitem__(self, index):
        return self

    def __iter__(self):
        return iter((self,))

    def __len__(self):
        return 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __repr__(self):
        return "(no picture)"

    def _ipython_display_(self):
        pass


rcParams: dict = {}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()
