"""A slow twin of Oort's selection of clients for training, written from the paper alone.

F. Lai, X. Zhu, H. V. Madhyastha, M. Chowdhury: "Oort: Efficient Federated Learning via
Guided Participant Selection", OSDI 2021: Algorithm 1, equations (1) and (2), sections 4.2
to 4.4. A second implementation must make the picks in picks.csv from the trace here.

    python3 twin.py            writes the picks to standard output
    python3 twin.py --check    compares trace.csv, clients.csv and picks.csv with what
                               this program makes; exit code 1 if one differs
    python3 twin.py --write    writes the three files

The files
---------
clients.csv: client, rows (its training rows), expected (seconds that a response is
    expected to take, known before the client ever responded).
trace.csv: one line for each round and each client that is available in it:
    round   from 1
    client  from 0
    u       the uniform number of (round, client), in (0, 1)
    seconds how long the client takes to respond if the server picks it in this round
    loss    root mean square of the losses of its rows if it is picked in this round;
            empty: the client does not respond, if it is picked
picks.csv: one line a round: round, exploration (epsilon), preferred (T in seconds, as
    used in the round), cap (of utilities; empty before the first report), cutoff (the
    utility that admits to exploitation; empty: nobody competes), the numbers of clients
    exploited, explored and readmitted, and the clients, in ascending order.

The algorithm, in each round R = 1, 2, ..., with the parameters below
----------------------------------------------------------------------
0. Feedback of round R-1. For each client i that was picked: picked(i) grows by one,
   whether or not it responded. For each that responded: it is explored; its statistical
   utility is U(i) = rows(i) * loss(i) (equation (1)); its duration is D(i) = the seconds
   that it took; its last round is L(i) = R-1.
1. Clipping. cap = the utility of rank ceil(0.95 n) in ascending order (rank 1 is the
   smallest) among the last reported utilities U of all n explored clients. From here on,
   U(i) means min(U(i), cap); the reported value is kept, and the cap is computed anew in
   each round. A round's utility is the sum of min(U(i), cap) over the clients that
   responded in it, with the cap of this step, that is the first cap after its responses.
2. Pacer. If R > 2W, and the sum of the utilities of rounds R-2W to R-W-1 is greater than
   that of rounds R-W to R-1, then T grows by Delta.
3. Utility of an explored client:
   Util(i) = (U(i) + sqrt(0.1 ln(R) / L(i))) * (T / D(i))^alpha if T < D(i), else without
   the last factor (equation (2); the sum is inside the product, lines 10 to 12).
4. Counts. explore = floor(epsilon * K + 1/2), exploit = K - explore, and then the amends
   under "Too few clients".
5. Exploitation, among the candidates: explored, available and not excluded. cutoff =
   c * Util of the candidate of rank `exploit` in descending order. Candidates with Util >=
   cutoff are admitted; `exploit` of them are sampled in proportion to Util.
6. Exploration, among the available clients that are not explored: `explore` of them are
   sampled in proportion to their speed, 1 / expected(i).
7. epsilon becomes max(0.2, epsilon * decay) for the next round.

Sampling in proportion to weights w without replacement: the clients with the smallest
keys -ln(u) / w (Efraimidis and Spirakis 2006); of equal keys the smaller client first. A
client competes in one group only, so that one u for (round, client) is enough, and the
order in which the groups are drawn does not matter.

Decisions where the paper is silent or allows several readings
---------------------------------------------------------------
- T starts with Delta (line 3 of Algorithm 1). The pacer looks in each round (line 7 has
  no other condition), from the first one that has 2W rounds before it. A window is
  half-open: U(R-W : R) is rounds R-W to R-1. Equal sums do not move T. A sum adds the
  rounds in ascending order, a round's utility its clients in ascending order.
- Clipping: the paper says "e.g. the 95 % value in utility distributions". Nearest rank,
  no interpolation; all explored clients count, also excluded and unavailable ones.
- Utilities are not scaled to [0, 1] before the term of temporal uncertainty is added: the
  paper does not say so. The logarithm is natural.
- D(i) is the last duration that was observed, not a mean. L(i) is the last round in which
  the client responded.
- A client that was picked and did not respond is not explored by that; if it was
  explored before, its U, D and L stay.
- Exclusion (section 4.4, removal after a number of rounds): a client is excluded from
  exploitation as soon as picked(i) >= limit, for good. Clients that never responded are
  not excluded: they have no utility that could be an outlier.
- The cut-off is among the available clients: others cannot be picked. A cut-off admits
  equality, so that c = 1 admits the best `exploit` clients.
- Epsilon in round 1 is 0.9; it never falls below its minimum.
- K: the number to pick, or the number of available clients where that is smaller.
- Cold start: in round 1 nobody is explored, so that all are sampled by speed.
- Too few clients, in this order: explore is at most the number of available unexplored
  clients, and what is missing is exploited; exploit is at most the number of candidates,
  and what is missing is explored, as far as there are unexplored clients. What is still
  missing is readmitted: sampled in proportion to Util among the available excluded ones.
  The cut-off uses the amended `exploit`; with exploit = 0 there is none.

Margins: no decision hangs on rounding. The program checks, for each round, that the keys
on both sides of a sample's end, each utility and the cut-off, the pacer's two sums, each
duration and T, and epsilon * K and the nearest half differ by more than 1e-9, relative to
the larger one; and that ceil(0.95 n) in floating point is the exact one.
"""

import csv
import io
import math
import pathlib
import random
import sys

CLIENTS, ROUNDS, K = 200, 50, 20
EPSILON, DECAY, EPSILON_MIN = 0.9, 0.85, 0.2  # the paper: 0.9, 0.98, 0.2
DELTA, WINDOW = 2.0, 5  # pacer: step in seconds, rounds (the paper: 20 rounds)
ALPHA = 2.0  # penalty of slow clients
CUTOFF = 0.95  # c
CLIP = 0.95  # of the utilities
LIMIT = 6  # picks after which a client is excluded

HERE = pathlib.Path(__file__).resolve().parent
MARGIN = 1e-9


def apart(a, b):
    """Checks that the order of two numbers does not hang on rounding."""
    assert abs(a - b) > MARGIN * max(abs(a), abs(b)), (a, b)


def sample(clients, weight, u, count):
    """The count clients with the smallest keys -ln(u) / weight."""
    keys = sorted((-math.log(u[i]) / weight[i], i) for i in clients)
    if 0 < count < len(keys):
        apart(keys[count - 1][0], keys[count][0])
    return [i for _, i in keys[:count]]


def select(rows, expected, trace):
    """The lines of picks.csv. trace[R][i] is (u, seconds, loss or None)."""
    explored = []  # in ascending order
    reported, duration, last = {}, {}, {}
    picked = {i: 0 for i in rows}
    earned = {}  # utility of each past round
    epsilon, preferred, picks = EPSILON, DELTA, []
    lines = []
    for R in range(1, len(trace) + 1):
        responded = []
        for i in picks:
            _, seconds, loss = trace[R - 1][i]
            picked[i] += 1
            if loss is None:
                continue
            responded.append(i)
            reported[i] = rows[i] * loss
            duration[i] = seconds
            last[i] = R - 1
        explored = sorted(reported)

        cap = None
        if explored:
            rank = math.ceil(CLIP * len(explored))
            assert rank == (95 * len(explored) + 99) // 100
            cap = sorted(reported.values())[rank - 1]
        utility = {i: min(reported[i], cap) for i in explored}
        if R > 1:
            earned[R - 1] = sum(utility[i] for i in sorted(responded))

        if R > 2 * WINDOW:
            before = sum(earned[r] for r in range(R - 2 * WINDOW, R - WINDOW))
            after = sum(earned[r] for r in range(R - WINDOW, R))
            apart(before, after)
            if before > after:
                preferred += DELTA

        util = {}
        for i in explored:
            util[i] = utility[i] + math.sqrt(0.1 * math.log(R) / last[i])
            apart(preferred, duration[i])
            if preferred < duration[i]:
                util[i] *= (preferred / duration[i]) ** ALPHA

        here = sorted(trace[R])
        new = [i for i in here if i not in util]
        excluded = [i for i in here if i in util and picked[i] >= LIMIT]
        candidates = [i for i in here if i in util and picked[i] < LIMIT]
        total = min(K, len(here))
        apart(epsilon * total, math.floor(epsilon * total) + 0.5)
        explore = min(math.floor(epsilon * total + 0.5), len(new))
        exploit = min(total - explore, len(candidates))
        explore = min(total - exploit, len(new))
        readmit = total - exploit - explore

        u = {i: trace[R][i][0] for i in here}
        cutoff, exploited = None, []
        if exploit > 0:
            best = sorted((util[i] for i in candidates), reverse=True)
            cutoff = CUTOFF * best[exploit - 1]
            for i in candidates:
                apart(util[i], cutoff)
            admitted = [i for i in candidates if util[i] >= cutoff]
            exploited = sample(admitted, util, u, exploit)
        speed = {i: 1 / expected[i] for i in new}
        picks = sorted(
            exploited + sample(new, speed, u, explore) + sample(excluded, util, u, readmit)
        )
        assert len(set(picks)) == total

        lines.append(
            [
                R,
                f"{epsilon:.9g}",
                f"{preferred:.9g}",
                "" if cap is None else f"{cap:.9g}",
                "" if cutoff is None else f"{cutoff:.9g}",
                exploit,
                explore,
                readmit,
                " ".join(map(str, picks)),
            ]
        )
        epsilon = max(EPSILON_MIN, epsilon * DECAY)
    return lines


def generate():
    """Lines of clients.csv and of trace.csv: made once, by a generator that is seeded.

    Only random() and rational functions are used, so that each Python makes the same.
    About half of the clients are available in a round, in shifts, and in four rounds
    (39 to 42) so few that excluded clients must return. Losses fall to round 24, rise to
    round 34 and fall again, so that the pacer both moves and waits. Each 25th client reports
    a loss 20 times too large, which clipping must hold down. One response in 25 is missing.
    """
    rng = random.Random(20210714)
    clients, lines = [], []
    slow, level = [], []
    for i in range(CLIENTS):
        rows = 20 + int(180 * rng.random() ** 3)
        expected = 5 + 6 * rng.random() / (1.06 - rng.random())
        clients.append([i, rows, f"{expected:.2f}"])
        slow.append(expected)
        level.append((0.06 + 0.08 * rng.random()) * (20 if i % 25 == 7 else 1))
    for R in range(1, ROUNDS + 1):
        phase = 1 / (1 + 0.06 * min(R, 24))
        phase *= 1 + 0.09 * min(max(R - 24, 0), 10)
        phase /= 1 + 0.05 * max(R - 34, 0)
        for i in range(CLIENTS):
            share = 0.75 if (i * 7 + R) % 24 < 12 else 0.3
            if 39 <= R <= 42:
                share = 0.11
            draws = [rng.random() for _ in range(5)]
            if draws[0] >= share:
                continue
            u = (1 + int(999998 * draws[1])) / 1000000
            seconds = slow[i] * (0.8 + 0.5 * draws[2])
            loss = "" if draws[3] < 0.04 else f"{level[i] * phase * (0.9 + 0.2 * draws[4]):.4f}"
            lines.append([R, i, f"{u:.6f}", f"{seconds:.3f}", loss])
    return clients, lines


def text(header, lines):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *lines])
    return out.getvalue()


def main():
    clients, lines = generate()
    rows = {int(i): int(n) for i, n, _ in clients}
    expected = {int(i): float(t) for i, _, t in clients}
    trace = {R: {} for R in range(1, ROUNDS + 1)}
    for R, i, u, seconds, loss in lines:
        trace[R][i] = float(u), float(seconds), float(loss) if loss else None
    picks = select(rows, expected, trace)
    files = {
        "clients.csv": text(["client", "rows", "expected"], clients),
        "trace.csv": text(["round", "client", "u", "seconds", "loss"], lines),
        "picks.csv": text(
            "round exploration preferred cap cutoff exploited explored readmitted clients".split(),
            picks,
        ),
    }
    if sys.argv[1:] == ["--write"]:
        for name, content in files.items():
            (HERE / name).write_text(content)
    elif sys.argv[1:] == ["--check"]:
        wrong = [name for name, content in files.items() if (HERE / name).read_text() != content]
        if wrong:
            sys.exit("twin.py makes other contents of " + ", ".join(wrong))
    else:
        sys.stdout.write(files["picks.csv"])


if __name__ == "__main__":
    main()
