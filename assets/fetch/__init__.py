"""Fetch from publishers: the HTTP session, its rate limits, credentials, and recorded responses."""
