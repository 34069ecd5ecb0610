"""The accounts database: keys, daily usage, sign-ups and the payment ledger, in SQLite or PostgreSQL."""
