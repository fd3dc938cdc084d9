"""Randomized mechanisms: sources of noise, randomizers of local DP, and scores for selection."""
