"""The MCP server at /mcp: stateless streamable HTTP; nine tools, resources, prompts."""
