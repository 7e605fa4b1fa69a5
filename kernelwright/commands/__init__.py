"""The commands of `kernelwright`: what each does and prints."""
