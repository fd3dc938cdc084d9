"""Privacy accounting: neighboring relations, ledgers, composition, sampling, the ledger file."""
