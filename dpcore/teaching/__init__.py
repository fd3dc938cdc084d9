"""The basic mechanisms, two games with them, and four attacks, as numbers to draw: made-up people, nothing to spend.

counts          noise on a count, seen from two neighboring worlds: Laplace, geometric, Gaussian
choices         the exponential mechanism, randomized response, and what an observer may come to believe
composition     one count asked again and again, people or columns split into groups, and the numbers that textbook
                noise in floating point can and cannot give
report_privacy  what randomized answers give away
coin_game       one answer by a coin, and a crowd's
membership_game guessing from a release who is in the table, and how often the best strategy is right
linkage         who is alone in what others know, and noisy counts in the place of rows
secret_bits     everybody's secret from many counts over groups of people
averages        who took part in a study that published averages alone
near_copies     how far rows are from the nearest real row, and what that does not say
histogram_pair  two worlds' runs as one set of bins, and how far their ratio may be from one

Two worlds differ by one person: without you a count is n, with you it is n + 1. The log ratio of an answer is the
logarithm of its probability with you over its probability without you.
"""
