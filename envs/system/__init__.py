"""What this machine is to us: hardware, files, locks, processes."""
