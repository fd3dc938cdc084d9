"""Benchmarks of accuracy, time and memory; each module is a program that prints its results."""
