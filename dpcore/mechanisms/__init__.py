"""What draws: noise, randomizers, and the scores that choices are made by."""
