"""Page Ledger: all queries to real rows by data set, and what they can cost together."""

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
    st.info(say("The ledger is empty. Make a release first."), icon=":material/receipt_long:")
    st.page_link(shell.find_page("naive_bayes"))
if accounts is not None:
    with shell.mendable():
        for account in accounts:
            ledger.draw_account(account, accounts)
    ledger.draw_location()
    about = say(
        "The ledger does not include releases by other programs. Values marked ⚠ were read from "
        "the rows without protection: no epsilon covers them, and they are not charged."
    )
    st.caption(say("Data are known by their file. Another file with the same people starts a new account."), help=about)
