"""Kernels for the vector extension Helium (MVE) of Armv8.1-M."""
