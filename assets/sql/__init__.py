"""Read the warehouse's Parquet with SQL: views over monthly files, and the rules that compare feeds with each other."""
