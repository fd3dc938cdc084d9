"""What a result is shown in, a tab each."""
