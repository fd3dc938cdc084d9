"""Post-processing of noisy answers: nothing here reads a private row or adds privacy loss."""
