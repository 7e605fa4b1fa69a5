"""The judge over HTTP: `kernelwright serve`, and a client for it."""
