"""What noisy answers are made into. Nothing here sees a row, so all of it is free."""
