"""Serve the geo layers: parameters, filters and selections of their files. This package does not import Flask."""
