"""The MCP server at /mcp: stateless streamable HTTP, six tools."""
