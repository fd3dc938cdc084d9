"""Ledger: everything that was asked of real rows, by data set, and what it cost altogether."""

import streamlit as st

from dpcore.dashboard import shell
from dpcore.dashboard.sections import ledger

shell.frame(
    "Ledger",
    "Every release, redraw and comparison, by data set, today's and earlier ones. Epsilons of the same rows **add "
    "up**, whether you liked a result or not.",
)
accounts = ledger.read_accounts()
if accounts is not None:
    if not accounts:
        st.info("This ledger has nothing on it yet. Make a release first.", icon=":material/receipt_long:")
        if st.button("Go to Naive Bayes", key="ledger.next"):
            shell.open_page("naive_bayes")
    with shell.mendable():
        for account in accounts:
            ledger.account_panel(account, accounts)
    ledger.both_relations(accounts)
    ledger.keeping()
    st.caption(
        "The ledger knows data by their file: another file with the same people starts a new account, and what other "
        "programs released is not in it."
    )
