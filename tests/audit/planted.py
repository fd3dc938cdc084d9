"""Planted faults: what stands under a name is replaced for one test by something made of it."""

from dpcore.mechanisms.randomizers import TRR


def changed(of, name, false):
    """A fault to plant: in place of what a class or module has under a name, `false` of that."""
    return lambda monkeypatch: monkeypatch.setattr(of, name, false(getattr(of, name)))


def falsely(of, name, false):
    """The same of a function: `false` is called in its place, with the honest one before what is given."""
    return changed(of, name, lambda honest: lambda *given, **more: false(honest, *given, **more))


def noise_of_numbers_over(times):
    """Numbers are reported with so many times less noise than is booked."""

    def weaker(honest, self, numbers, lots, laplace):
        return honest(self, numbers, lots, lambda values, scale, **grid: laplace(values, scale / times, **grid))

    return falsely(TRR, "report", weaker)
