"""Describe the API in OpenAPI: schemas, examples and the document, which is generated from the endpoint table."""
