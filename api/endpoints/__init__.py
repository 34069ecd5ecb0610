"""Every path of this service in one table, from which routes, checks, OpenAPI, `/catalog` and llms.txt follow."""
