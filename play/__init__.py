"""The practice table: a person against agents."""
