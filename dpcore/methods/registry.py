"""The methods by name, each imported when it is first used, and advice on unknown names."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

OTHER_LIBRARIES = Path(__file__).with_name("other_libraries.toml")
Kind = TypeVar("Kind")


def load(location: str) -> Any:
    """Import and return an object of the package.

    `location` is "module:Name", or "module" for the module itself, relative to `dpcore`.
    """
    module, _, name = location.partition(":")
    found = import_module(f"dpcore.{module}")
    return getattr(found, name) if name else found


def advise(name: str, table: str = "names", known: Iterable[str] = ()) -> str:
    """Return advice on what to write in place of an unknown name; empty if there is none.

    The advice begins with a blank. `table` is a table of `other_libraries.toml`, which lists names
    that users of other libraries try. For other names, the nearest of the `known` names is
    suggested.
    """
    from dpcore.text import read_toml

    written = read_toml(OTHER_LIBRARIES)[table] if table else {}
    if found := [sentence for names, sentence in written.items() if name in names.split()]:
        return f" {found[0]}"
    known = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), known, 1, 0.75)
    return f" Did you mean {known[near[0]]!r}?" if near else ""


class Registry(Mapping[str, Kind]):
    """Read-only mapping from the titles of methods to their classes, in order of registration.

    Names, their number and `in` import nothing. Access to a class imports its module, and `values`
    and `items` import all.
    """

    def __init__(self, locations: Mapping[str, str]) -> None:
        """Store the location of each class, "module:Class" relative to `dpcore`, by title."""
        self._locations = dict(locations)  # "module:Class", relative to `dpcore`, by title
        # locations by the names of the classes
        self.classes = {location.partition(":")[2]: location for location in self._locations.values()}

    def name_of(self, kind: str, otherwise: str) -> str:
        """Return the title of the method whose class is named `kind`; `otherwise` if unknown."""
        return next((name for name, one in self._locations.items() if one.partition(":")[2] == kind), otherwise)

    def __getitem__(self, name: str) -> Kind:
        """Import and return the class of a title; KeyError with advice if it is unknown."""
        if name not in self._locations:
            raise KeyError(f"There is no method {name!r}.{advise(str(name), '', self)}")
        found: Kind = load(self._locations[name])
        return found

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the titles."""
        return iter(self._locations)

    def __len__(self) -> int:
        """Return the number of methods."""
        return len(self._locations)

    def __contains__(self, name: object) -> bool:
        """Return whether a method has this title."""
        return name in self._locations

    def __repr__(self) -> str:
        """Return the titles and locations as a text."""
        return f"Registry({self._locations})"


METHODS: Registry[Any] = Registry(
    {
        "NB-Synth": "methods.naive_bayes:NaiveBayesSynthesizer",
        "Adaptive marginals": "methods.networks.adaptive_marginals:AdaptiveMarginals",
        "PrivBayes refined": "methods.networks.refined_privbayes:RefinedPrivBayes",
        "MST": "methods.networks.mst:MST",
        "AIM": "methods.networks.aim:AIM",
        "HMPrivBayes": "methods.networks.hmprivbayes:HMPrivBayes",
        "PrivSCBN": "methods.networks.privscbn:PrivSCBN",
        "PrivBayes": "methods.networks.privbayes:PrivBayes",
        "JTree": "methods.networks.jtree:JTree",
        "Independent marginals": "methods.networks.independent_marginals:IndependentMarginals",
        "NoPrivacy": "methods.networks.hmprivbayes:NoPrivacy",
        "TaxonomyRelease": "methods.groups.taxonomy_release:TaxonomyRelease",
        "DiffGen": "methods.groups.diffgen:DiffGen",
        "DT-Diff rows": "methods.groups.dtdiff:DTDiffRows",
        "DiffPRFs": "methods.trees.diffprfs:DiffPRFs",
        "DiffPRF": "methods.trees.diffprf:DiffPRF",
        "DiffP-C4.5": "methods.trees.id3:DiffPC45",
        "DiffP-ID3": "methods.trees.id3:DiffPID3",
        "PINQ-ID3": "methods.trees.id3:PINQID3",
        "SuLQ-ID3": "methods.trees.id3:SuLQID3",
        "DT-Diff": "methods.groups.dtdiff:DTDiff",
        "DiffGen tree": "methods.groups.diffgen:DiffGenTree",
        "Non-private forest": "methods.trees.non_private_forest:NonPrivateForest",
        "PPNB": "methods.local.ppnb:PPNB",
        "DTPD": "methods.local.dtpd:DTPD",
        "DTCRD": "methods.local.dtcrd:DTCRD",
        "Non-private naive Bayes": "methods.local.ppnb:NonPrivateNaiveBayes",
    }
)
