"""Define what Dagster runs without a command: jobs, schedules and sensors, and what it records."""
