"""Risk-weighted autonomy: the budget, drift, and the checkpoint that they ask for."""
