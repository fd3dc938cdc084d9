"""Page About: what dpcore is and is not, where methods come from, and what a server keeps."""

import streamlit as st

from dpcore import __version__
from dpcore.dashboard import hosting, shell
from dpcore.dashboard.widgets import markdown
from dpcore.language import phrase, say


def draw_server() -> None:
    """Draw who runs a server for visitors, what the server keeps, and what it allows."""
    most = hosting.limits()
    with st.expander(say("Who runs this server")):
        who = shell.escape(hosting.operator_name())
        st.markdown(who or say("The operator of this server did not say who they are."))
        markdown(
            "**You have to trust the operator**, who could read the server’s memory and log, and "
            "may note who visits. A table that no one else may see belongs on your own computer."
        )
    with st.expander(say("What this server keeps")):
        markdown(
            "**Nothing, once you are gone.** Your rows, releases and ledger are in memory only, "
            "and dropped {seconds:g} seconds after you close the tab. A large upload may pass "
            "through a temporary file, which is deleted once it was read.\n\n**Epsilons add up for "
            "longer than a session.** This server forgets what was charged: if you publish what "
            "you make of rows of your own, write down what it can cost.",
            seconds=float(st.get_option("server.disconnectedSessionTTL")),
        )
    with st.expander(say("What this server lets you do")):
        markdown(
            "Work takes {most.seconds:,} seconds at most. {most.per_visitor} pieces of yours run "
            "or wait at a time, and {most.at_once} of all visitors run; the others wait in line.",
            most=most,
        )
        files = phrase("The server takes no files: all work is done with the tables that come with dpcore.")
        if hosting.accepts_uploads():
            files = phrase("Uploads: {most.rows:,} rows, {most.columns:,} columns, {size} MB at most.")
        markdown(files, most=most, size=st.get_option("server.maxUploadSize"))


shell.draw_frame(say("About dpcore"), say("Version {version} · Apache License 2.0", version=__version__))
markdown(
    "**What it is**: a tool to teach and explain differentially private data release. Methods run "
    "as published, and corrected so that the guarantee is proved.\n\n**What it is not**: a "
    "production service. It is teaching grade: no one outside the project has reviewed its "
    "security.\n\n**Where the methods come from**: four papers and a patent, and baselines. Every "
    "release names its source."
)
if hosting.is_hosted():
    draw_server()
