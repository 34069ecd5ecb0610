"""Provide HTTP itself: middleware, parameters, problems, responses, compression, access log and metrics."""
