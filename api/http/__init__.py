"""Handle HTTP: middleware, parameters, problems, responses, compression, access log and metrics."""
