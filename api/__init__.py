"""Serve the warehouse over HTTP. Importing this package loads nothing: see `api.application`."""
