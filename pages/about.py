"""About this server: who runs it, what it keeps, and what it lets visitors do."""

import streamlit as st

from dpcore.dashboard import hosting, shell
from dpcore.dashboard.widgets import markdown
from dpcore.language import say

shell.frame(say("About this server"), say("Many people use it at once. Nobody sees anything of anybody else's."))
st.header(say("Who runs it"), anchor=False)
st.markdown(shell.escaped(hosting.operator()) or say("Whoever started this server did not say who they are."))
st.header(say("What it keeps"), anchor=False)
markdown(
    "**Nothing, once you are gone.** Your rows, releases and ledger are in this server's memory while you are here, "
    "and are dropped {seconds:g} seconds after you close the tab. No ledger is written to a file. A large upload may "
    "pass through a temporary file, which is deleted once it was read.",
    seconds=float(st.get_option("server.disconnectedSessionTTL")),
)
markdown(
    "**You have to trust whoever runs it** with what you upload: they could read the server's memory and its log "
    "of errors, and may note who visits it. Tables that nobody else may see belong on a computer of your own, on "
    "which dpcore runs as well."
)
markdown(
    "**Epsilons add up for longer than a session.** This server forgets what was charged. If you publish what you "
    "make here of rows of your own, write down what it can cost."
)
st.header(say("What it lets you do"), anchor=False)
most = hosting.limits()
markdown(
    "At most {mine} pieces of work of yours at a time, of {seconds:,} seconds each. {all} run at the same time, of all "
    "visitors; the others wait in line and take turns, so that long work does not keep short work waiting.",
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
