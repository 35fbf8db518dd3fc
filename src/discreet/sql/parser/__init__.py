"""Parse a question: sqlglot's tree, node by node, into our own."""
