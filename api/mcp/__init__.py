"""Serve MCP at /mcp over stateless streamable HTTP, with nine tools, resources and prompts."""
