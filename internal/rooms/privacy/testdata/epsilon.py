"""Writes epsilon.csv: epsilon by published accountants.

Needs dp-accounting 0.6.0, and opacus/accountants/analysis/rdp.py of Opacus 1.6.0, which needs
NumPy and no torch: python epsilon.py rdp.py > epsilon.csv
"""

import csv
import importlib.util
import sys

import dp_accounting as dp
from dp_accounting.rdp import RdpAccountant

spec = importlib.util.spec_from_file_location("opacus_rdp", sys.argv[1])
opacus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(opacus)
ALPHAS = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64))

POISSON = [
    (0.01, 1.1, 1000, 1e-5), (0.01, 0.8, 10000, 1e-5), (0.001, 0.7, 5000, 1e-6), (0.1, 1.0, 100, 1e-5),
    (0.1, 4.0, 1000, 1e-6), (0.05, 0.6, 20, 1e-4), (0.02, 1.0, 4000, 1e-9), (0.5, 2.0, 50, 1e-3),
    (0.9, 10.0, 500, 1e-5), (0.00114, 1.0, 4120, 1e-9), (0.3, 0.5, 3, 1e-5), (0.01, 20.0, 1, 1e-2),
]
NONE = [(1, 1.0, 1, 1e-5), (1, 5.0, 10, 1e-5), (1, 20.0, 100, 1e-6), (1, 50.0, 1000, 1e-9), (1, 2.0, 3, 1e-2)]
FIXED = [  # clients, cohort, noise, rounds, delta
    (1000, 10, 1.0, 100, 1e-5), (1000, 10, 2.0, 1000, 1e-5), (1000, 100, 2.0, 100, 1e-5), (100, 10, 4.0, 50, 1e-4),
    (100, 10, 10.0, 200, 1e-4), (1000, 50, 20.0, 500, 1e-6), (50, 25, 8.0, 20, 1e-3), (1000, 1000, 8.0, 20, 1e-3),
]

print(
    "# epsilon of published accountants: dp-accounting 0.6.0 (RdpAccountant, default orders; PLDAccountant), "
    "opacus 1.6.0 (analysis/rdp.py, its default alphas)"
)
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["accounting", "rate", "noise", "rounds", "delta", "dp_accounting_rdp", "opacus_rdp", "dp_accounting_pld"])
for kind, cases in (("poisson", POISSON), ("none", NONE)):
    for rate, noise, rounds, delta in cases:
        event = dp.GaussianDpEvent(noise)
        if kind == "poisson":
            event = dp.PoissonSampledDpEvent(rate, event)
        rdp = opacus.compute_rdp(q=rate, noise_multiplier=noise, steps=rounds, orders=ALPHAS)
        row = [
            RdpAccountant().compose(event, rounds).get_epsilon(delta),
            opacus.get_privacy_spent(orders=ALPHAS, rdp=rdp, delta=delta)[0],
            dp.pld.PLDAccountant().compose(event, rounds).get_epsilon(delta),
        ]
        out.writerow([kind, rate, noise, rounds, delta] + [repr(float(x)) for x in row])
for clients, cohort, noise, rounds, delta in FIXED:
    # The accountant's noise is relative to the sensitivity, which is 2 clip when a client is replaced.
    event = dp.SampledWithoutReplacementDpEvent(clients, cohort, dp.GaussianDpEvent(noise / 2))
    accountant = RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
    epsilon = accountant.compose(event, rounds).get_epsilon(delta)
    out.writerow(["fixed", cohort / clients, noise, rounds, delta, repr(float(epsilon)), "", ""])
