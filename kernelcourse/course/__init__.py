"""The instructor's side: release and check assignments, start new ones. The command line lives in `cli`."""
