"""Code that the packages of several agents share."""
