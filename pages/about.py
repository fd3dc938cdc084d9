"""About: what this is and is not, where methods come from; of a server, what it keeps."""

import streamlit as st

from dpcore import __version__
from dpcore.dashboard import hosting, shell
from dpcore.dashboard.widgets import markdown
from dpcore.language import say


def server() -> None:
    """Who runs a server for visitors, what it keeps, and what it lets them do."""
    with st.expander(say("Who runs this server")):
        who = shell.escaped(hosting.operator())
        st.markdown(who or say("The operator did not say who they are."))
        markdown(
            "**You have to trust the operator** with what you upload: they could read the server's "
            "memory and its log of errors, and may note who visits it. A table that no one else may "
            "see belongs on a computer of your own, on which dpcore runs as well."
        )
    with st.expander(say("What it keeps")):
        markdown(
            "**Nothing, once you are gone.** Your rows, releases and ledger are in this server's "
            "memory while you are here, and are dropped {seconds:g} seconds after you close the tab. "
            "No ledger is written to a file. A large upload may pass through a temporary file, which "
            "is deleted once it was read.",
            seconds=float(st.get_option("server.disconnectedSessionTTL")),
        )
        markdown(
            "**Epsilons add up for longer than a session.** This server forgets what was charged. "
            "If you publish what you make here of rows of your own, write down what it can cost."
        )
    with st.expander(say("What it lets you do")):
        most = hosting.limits()
        markdown(
            "At most {mine} pieces of work of yours at a time, of {seconds:,} seconds each. {all} "
            "run at the same time, of all visitors; the others wait in line and take turns, so that "
            "long work does not keep short work waiting.",
            mine=most.per_visitor,
            seconds=most.seconds,
            all=most.at_once,
        )
        if hosting.takes_files():
            markdown(
                "Tables of your own have at most {rows:,} rows, {columns:,} columns and {megabytes} MB.",
                rows=most.rows,
                columns=most.columns,
                megabytes=st.get_option("server.maxUploadSize"),
            )
        else:
            markdown("It takes no files: all that is done here is done with the tables that come with dpcore.")


about = say("Version {version} · Apache License 2.0", version=__version__)
shell.frame(say("About dpcore"), about)
markdown(
    "**What it is**: a tool to teach and explain differentially private data release. Methods run as "
    "published, and corrected so that the guarantee is proved."
)
markdown(
    "**What it is not**: a production service. It is teaching grade: no one outside the project has "
    "reviewed its security."
)
markdown(
    "**Where the methods come from**: four papers and a patent, and the baselines that they compare "
    "with. Every release names its source."
)
if hosting.hosted():
    server()
