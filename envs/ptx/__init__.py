"""PTX on a CPU: what a GPU would run, translated to C++ that checks every access."""
