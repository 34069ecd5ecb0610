-- Dagster's own database, beside the accounts'.
CREATE DATABASE dagster;
