"""What a reply may be: GBNF, constraints on tokens, sampling under them."""
