"""The API: reads the warehouse, answers over HTTP. Importing this package loads nothing: see `api.application`."""
