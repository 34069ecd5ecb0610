"""Bytes by key, in a folder or a bucket, and where each thing lies."""
