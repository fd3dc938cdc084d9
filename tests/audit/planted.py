"""Planted faults: replace an attribute for one test by a faulty version of it."""

from dpcore.mechanisms.randomizers import TRR


def changed(of, name, false):
    """Return a fault: the attribute `name` of `of` becomes `false(attribute)`."""
    return lambda monkeypatch: monkeypatch.setattr(of, name, false(getattr(of, name)))


def falsely(of, name, false):
    """Return a fault: the function `name` calls `false(original, *arguments)` instead."""
    return changed(of, name, lambda honest: lambda *given, **more: false(honest, *given, **more))


def noise_of_numbers_over(times):
    """Return a fault: numbers are reported with `times` times less noise than is charged."""

    def weaker(honest, self, numbers, lots, laplace):
        return honest(self, numbers, lots, lambda values, scale, **grid: laplace(values, scale / times, **grid))

    return falsely(TRR, "report", weaker)
