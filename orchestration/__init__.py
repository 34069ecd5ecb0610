"""Assemble definitions, schedules, sensors and the command line, without computing anything."""
