"""Ledger: everything that was asked of real rows, by data set, and what it can cost altogether."""

import streamlit as st

from dpcore.dashboard import session, shell
from dpcore.dashboard.pages.ledger import ledger
from dpcore.language import say

shell.draw_frame(
    say("This lesson's ledger") if session.is_set_aside() else say("Ledger"),
    say("Every run on real rows is charged here. Epsilons of the same rows add up."),
)
accounts = ledger.read_accounts()
if accounts == []:
    st.info(say("This ledger has nothing on it yet. Make a release first."), icon=":material/receipt_long:")
    st.page_link(shell.find_page("naive_bayes"))
if accounts is not None:
    with shell.mendable():
        for account in accounts:
            ledger.account_panel(account, accounts)
    ledger.keeping()
    about = say(
        "What other programs released is not in it. What carries ⚠ was read off the rows without protection: no "
        "epsilon covers it, and it is not charged."
    )
    st.caption(say("Data are known by their file. Another file with the same people starts a new account."), help=about)
