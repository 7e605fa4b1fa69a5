"""Access to this machine: hardware, files, locks, processes."""
