"""The OpenAPI description: schemas, examples and the document made from the endpoint table."""
