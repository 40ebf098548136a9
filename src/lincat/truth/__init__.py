"""The evidence: problems of known truth, run with nothing given but gamma, beside the rivals."""
