"""How sessions are worded, ordered and shortened for people; pure functions."""
