"""Problems of our own, composed of operators, with their kernels."""
