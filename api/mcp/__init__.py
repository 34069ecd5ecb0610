"""The MCP server at /mcp: stateless streamable HTTP; eight tools, resources, prompts."""
