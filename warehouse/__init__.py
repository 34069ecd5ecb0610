"""Store and validate market data in files. This package does not use Dagster, Flask, HTTP or pandas."""
