"""The paper's tables: from a specification to runs of the command, and from their results to a rendered table."""
