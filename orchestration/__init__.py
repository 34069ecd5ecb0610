"""Assembly only: definitions, schedules, sensors and the command line. Computes nothing."""
