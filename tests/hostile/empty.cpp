// verdict: no_kernel empty_source
