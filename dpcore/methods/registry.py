"""The methods by name, each imported when it is first asked for; what to write in place of a name that is not there."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

OTHER_LIBRARIES = Path(__file__).with_name("other_libraries.toml")
Kind = TypeVar("Kind")


def load(location: str) -> Any:
    """What stands at "module:Name", or the module at "module", below `dpcore`; imported if it was not."""
    module, _, name = location.partition(":")
    found = import_module(f"dpcore.{module}")
    return getattr(found, name) if name else found


def advise(name: str, table: str = "names", known: Iterable[str] = ()) -> str:
    """What to write in place of a name that is not there, after a blank; empty if nothing is known.

    What users of other libraries write is in a table of `other_libraries.toml`; other names may be
    near a known one.
    """
    from dpcore.text import read_toml

    written = read_toml(OTHER_LIBRARIES)[table] if table else {}
    if found := [sentence for names, sentence in written.items() if name in names.split()]:
        return f" {found[0]}"
    known = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), known, 1, 0.75)
    return f" Did you mean {known[near[0]]!r}?" if near else ""


class Registry(Mapping[str, Kind]):
    """Classes by their printed names, read-only, in the order of the lines.

    Names, their number and `in` import nothing; a class, and what lists classes (`values`,
    `items`), imports it.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)  # "module:Class", below `dpcore`, by printed name
        # by the classes' own names
        self.classes = {location.partition(":")[2]: location for location in self._places.values()}

    def name_of(self, kind: object, otherwise: str) -> str:
        """The printed name of a class, by the class's own name; another one if there is no such class."""
        return next((name for name, location in self._places.items() if location.partition(":")[2] == kind), otherwise)

    def __getitem__(self, name: str) -> Kind:
        if name not in self._places:
            raise KeyError(f"There is no method {name!r}.{advise(str(name), '', self)}")
        found: Kind = load(self._places[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __repr__(self) -> str:
        return f"Registry({self._places})"


METHODS: Registry[Any] = Registry(
    {
        "NB-Synth": "methods.naive_bayes:NaiveBayesSynthesizer",
        "Adaptive marginals": "methods.networks.adaptive_marginals:AdaptiveMarginals",
        "PrivBayes refined": "methods.networks.refined:RefinedPrivBayes",
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
