"""Read windows of rows: the query, its paging, its rows and their formats. Nothing here imports Flask."""
