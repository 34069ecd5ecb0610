"""Start the API and Dagster's servers, and end them."""
