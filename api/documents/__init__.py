"""Serve published documents, the catalogue, source freshness and `/metrics`. This package does not import Flask."""
