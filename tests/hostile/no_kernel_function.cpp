// verdict: build_failed no_kernel_function
// Compiles, but defines no kernel.
int helper() { return 1; }
