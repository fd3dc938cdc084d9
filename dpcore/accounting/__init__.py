"""What a run cost: relations, ledgers, samples, and the file that outlives the session."""
