"""Store and validate market data in files, without Dagster, Flask, HTTP or pandas."""
