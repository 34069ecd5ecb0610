"""How publishers are asked: the HTTP session, its rate limits, credentials, and recorded answers in its place."""
