"""A slow twin of Oort's selection of clients for training, after the code of its authors.

The code is FedScale (github.com/SymbioticLab/FedScale, commit 7ec441c): the class
_training_selector in thirdparty/oort/oort.py, its calls in fedscale/cloud/client_manager.py
and fedscale/cloud/aggregation/aggregator.py, and the defaults of
fedscale/cloud/config_parser.py. The first release (github.com/SymbioticLab/Oort, commit
05a3aa1) was read beside it. This program was written after them and shares no line with
them. A second implementation must make the picks in picks-authors.csv from the trace here.

    python3 authors.py            writes the picks to standard output
    python3 authors.py --check    compares picks-authors.csv with what this program makes
    python3 authors.py --write    writes it

clients.csv and trace.csv are those of twin.py; in rounds 26 to 30 losses are 40 times as
large, so that the pacer falls as well.

picks-authors.csv: one line a round: round, exploration (epsilon), share (of the clients
whose durations are at most T), preferred (T in seconds), the numbers of clients admitted,
exploited, explored and filled, and the clients, in ascending order. Round 1 has the clients
alone.

The rule, in each round R = 1, 2, ...; C = R - 1 is what the code calls cur_time
-------------------------------------------------------------------------------
0. Before the first round: U(i) = rows(i), D(i) = expected(i), count(i) = 0.
1. Feedback of the last round. A client that responded: U(i) = rows(i) * loss(i), D(i) = its
   seconds, L(i) = C. One that was picked and did not: U(i) = the mean U of those that
   responded, L(i) = C + 1 (the code raises its round in between). Each: count(i) + 1.
2. Round 1 picks with equal probability.
3. Excluded are the clients with count > LIMIT, at most 30 % of all, those with the largest
   counts, of equal ones the smaller numbers.
4. Pacer. h(C) is the mean U (now) of the clients that the last round exploited. If C >= 2W
   and W divides C: the sum of the last W values of h against that of the W before. If they
   differ by at most a tenth of the latter, share grows by its step, to 1 at most; if by at
   least five times the latter, it falls, to the step at least.
5. T = the duration of rank int(n share) from 0 among the durations of all n clients; none
   if share is 1.
6. Over the available clients that are not excluded, with a U above 0: low = .999 min U,
   range = max(max U - low, 1e-4), cap = the U of rank int(n clip) from 0.
7. Score of a client with a feedback: (min(U, cap) - low)/range + sqrt(.1 ln(C)/L), times
   (T/D)^alpha if D > T; its absolute value.
8. epsilon = max(epsilon decay, its minimum), from the second round on. exploit = K -
   int(K epsilon), at most the scores that there are. The cut-off is c times the score of
   rank `exploit` from 0. Clients in descending order of scores are admitted until one is
   below the cut-off and more than 10 exploit are admitted. `exploit` of them are sampled in
   proportion to their scores.
9. The others are explored: K - exploit of the available clients without a feedback, at most
   all. The int(5 times as many) of them with the largest rows, times (T/D)^alpha if D > T,
   compete, and are sampled in proportion to that.

Sampling in proportion to weights without replacement: as in twin.py, the smallest keys
-ln(u)/w. With equal probability: the smallest of (7919 * 10^6 u) mod 1000003.

Where the code leaves something open, differs between its releases, or fails
----------------------------------------------------------------------------
- Admission of more than ten times as many, and the absolute value, are FedScale's; the first
  release admits by the cut-off alone.
- FedScale's simulator knows how long a client would have taken that it does not wait for.
  Here D stays what it was: nobody knows the future. A client that dropped out gets no
  feedback there; the server here cannot tell it from a late one.
- If nobody is left to explore, FedScale picks those that were explored last once more. The
  first release picks clients with equal probability among the available ones that are not
  excluded, and if every client has a feedback exploration ends for good. So here. If they
  are still too few, excluded ones are picked in the same way.
- FedScale's cut-off is out of range when every scored client is exploited: here it is that
  of the last one. Without a U above 0 it fails: here low and cap are 0, range 1e-4.
- The share of excluded clients is no whole number there, and slicing by it fails: int here.
- A score of 0 cannot be drawn there; here such a client comes last.
- Ties: the smaller client first. Sums are in ascending order of clients.
- Shares here, percents there.
"""

import math
import pathlib
import sys

import twin

DECAY, EPSILON, EPSILON_MIN = 0.85, 0.9, 0.2  # the code: 0.98, 0.9, 0.3
SHARE, STEP, WINDOW = 0.3, 0.05, 5  # the code: 30, 5 (percent), 20 rounds
ALPHA, CLIP, CUTOFF = 2.0, 0.9, 0.7  # the code: 2, 0.9, 0.05
EXPLORED = 1.5  # times the clients to explore compete; the code: 5
LIMIT = 7  # feedbacks; the code: none
POOL = 2  # times the clients to exploit are admitted at least; the code: 10
K = 20

HERE = pathlib.Path(__file__).resolve().parent


def louder(R, loss):
    """The loss of the trace in this test."""
    return loss and loss * (40 if 26 <= R <= 30 else 1)


def equally(clients, u, count):
    """The count clients of the smallest numbers."""
    return sorted(clients, key=lambda i: (round(u[i] * 10**6) * 7919 % 1000003, i))[:count]


def ordered(clients, value):
    """Clients in descending order of a value, checked to be no matter of rounding."""
    out = sorted(clients, key=lambda i: (-value[i], i))
    for i, j in zip(out, out[1:]):
        if value[i] != value[j]:
            twin.apart(value[i], value[j])
    return out


def select(rows, expected, trace):
    n = len(rows)
    U, D, L, count = dict(rows), dict(expected), {}, dict.fromkeys(rows, 0)
    U = {i: float(u) for i, u in U.items()}
    epsilon, least, share = EPSILON, EPSILON_MIN, SHARE
    history, exploited, picks, lines = [], [], [], []
    for R in range(1, len(trace) + 1):
        C = R - 1
        late, mean = [], []
        for i in picks:
            _, seconds, loss = trace[C][i]
            if loss is None:
                late.append(i)
            else:
                U[i], D[i], L[i] = rows[i] * louder(C, loss), seconds, C
                mean.append(U[i])
                count[i] += 1
        for i in late:
            U[i], L[i] = sum(mean) / max(1, len(mean)), C + 1
            count[i] += 1

        here = sorted(trace[R])
        u = {i: trace[R][i][0] for i in here}
        total = min(K, len(here))
        if R == 1:
            picks = sorted(equally(here, u, total))
            lines.append([R, "", "", "", "", "", "", "", " ".join(map(str, picks))])
            continue

        often = sorted((i for i in rows if count[i] > LIMIT), key=lambda i: (-count[i], i))
        excluded = set(often[: int(0.3 * n)])
        history.append(sum(U[i] for i in sorted(exploited)) / (1e-4 + len(exploited)))
        if C >= 2 * WINDOW and C % WINDOW == 0:
            before, since = sum(history[-2 * WINDOW : -WINDOW]), sum(history[-WINDOW:])
            twin.apart(abs(since - before), 0.1 * before)
            twin.apart(abs(since - before), 5 * before)
            if abs(since - before) <= 0.1 * before:
                share = min(1, share + STEP)
            elif abs(since - before) >= 5 * before:
                share = max(STEP, share - STEP)
        T = math.inf if share >= 1 else sorted(D.values())[min(int(n * share), n - 1)]

        ordered_keys = [i for i in here if i not in excluded]
        worth = sorted(U[i] for i in ordered_keys if U[i] > 0)
        low, cap, width = 0.0, 0.0, 1e-4
        if worth:
            low, cap = 0.999 * worth[0], worth[min(int(len(worth) * CLIP), len(worth) - 1)]
            width = max(worth[-1] - low, 1e-4)

        def slow(i, x):
            return x * (T / max(1e-4, D[i])) ** ALPHA if D[i] > T else x

        score = {}
        for i in ordered_keys:
            if count[i] > 0:
                x = (min(U[i], cap) - low) / width + math.sqrt(0.1 * math.log(C) / L[i])
                score[i] = abs(slow(i, x))

        epsilon = max(epsilon * DECAY, least)
        exploit = min(total - int(total * epsilon), len(score))
        admitted = []
        exploited = []
        if exploit > 0:
            ranked = ordered(score, score)
            cutoff = CUTOFF * score[ranked[min(exploit, len(ranked) - 1)]]
            for i in ranked:
                if score[i] < cutoff and len(admitted) > POOL * exploit:
                    break
                admitted.append(i)
            exploited = twin.sample(admitted, score, u, exploit)

        new = [i for i in here if count[i] == 0]
        explore = min(len(new), total - exploit)
        weight = {i: slow(i, float(rows[i])) for i in new}
        explored = twin.sample(ordered(new, weight)[: int(EXPLORED * explore)], weight, u, explore)

        picks = exploited + explored
        missing = total - len(picks)
        others = [i for i in here if i not in picks]
        filled = equally([i for i in others if i not in excluded], u, missing)
        filled += equally([i for i in others if i in excluded], u, missing - len(filled))
        picks = sorted(picks + filled)
        assert len(set(picks)) == total
        lines.append(
            [R, f"{epsilon:.9g}", f"{share:.9g}", f"{T:.9g}", len(admitted), exploit, explore]
            + [len(filled), " ".join(map(str, picks))]
        )
        if all(count.values()):
            epsilon = least = 0.0
    return lines


def main():
    clients, entries = twin.generate()
    rows = {int(i): int(x) for i, x, _ in clients}
    expected = {int(i): float(t) for i, _, t in clients}
    trace = {R: {} for R in range(1, twin.ROUNDS + 1)}
    for R, i, u, seconds, loss in entries:
        trace[R][i] = float(u), float(seconds), float(loss) if loss else None
    header = "round exploration share preferred admitted exploited explored filled clients"
    picks = twin.text(header.split(), select(rows, expected, trace))
    if sys.argv[1:] == ["--write"]:
        (HERE / "picks-authors.csv").write_text(picks)
    elif sys.argv[1:] == ["--check"]:
        if (HERE / "picks-authors.csv").read_text() != picks:
            sys.exit("authors.py makes another picks-authors.csv")
    else:
        sys.stdout.write(picks)


if __name__ == "__main__":
    main()
