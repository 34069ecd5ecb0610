"""Start and stop the API and Dagster's servers."""
