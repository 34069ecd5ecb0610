"""What verbs and jobs do: ingest, backfill, rebuild, verify, copy."""
