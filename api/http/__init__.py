"""HTTP itself: middleware, parameters, problems, responses, compression, access log, metrics."""
