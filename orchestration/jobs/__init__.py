"""What Dagster runs by itself: jobs, schedules, sensors, and what it records."""
