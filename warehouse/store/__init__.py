"""Store bytes by key, in a folder or a bucket, and define the keys."""
