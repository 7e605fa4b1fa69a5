"""`python -m kernelwright` is the `kernelwright` command."""

from __future__ import annotations

from kernelwright.cli import main

if __name__ == "__main__":
    main()
