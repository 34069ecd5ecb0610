"""Windows of rows: the query, its paging, its rows and their formats. No Flask here."""
