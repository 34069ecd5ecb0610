-- POSTGRES_DB names the accounts database.
CREATE DATABASE dagster;
