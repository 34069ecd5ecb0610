"""Implement the work of verbs and jobs: ingest, backfill, rebuild, verify, copy."""
