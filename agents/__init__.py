"""Everything that can sit at a table: bots and trained policies."""
