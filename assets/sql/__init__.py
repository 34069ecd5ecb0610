"""The warehouse's Parquet as SQL: views over month files, and the rules that compare feeds with each other."""
