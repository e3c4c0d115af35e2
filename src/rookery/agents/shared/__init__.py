"""What the dialects of several agents share."""
