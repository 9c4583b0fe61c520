"""Settings for the notebooks of the pages: figures as SVG for the web or as PDF for print, and no history."""

import os

c = get_config()  # noqa: F821
c.InlineBackend.figure_formats = {os.environ["BOOK_FIGURES"]}
c.InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "facecolor": "white"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"  # the kernels talk only to this machine, so encryption is not needed
if os.environ["BOOK_FIGURES"] == "svg":
    c.InteractiveShellApp.extensions = ["narrow"]  # a second form of each figure, for phones
