"""Markets, time and files. No Dagster, Flask, HTTP or pandas."""
