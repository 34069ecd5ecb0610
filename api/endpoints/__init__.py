"""List every path of this service in a table, which routes, checks, OpenAPI, `/catalog` and llms.txt follow."""
