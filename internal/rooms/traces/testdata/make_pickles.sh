#!/bin/sh
# Makes the pickles of this folder, with Python 3.
set -e
for p in 2 3 4 5; do
python3 -c "
import pickle, sys
p = int(sys.argv[1])
trace = {
    3834: {'duration': 211625, 'inactive': [65881, 133574, 208292, 276575, 295006, 356236, 400906, 475099], 'finish_time': 518400,
           'active': [12788, 100044, 188992, 271372, 276663, 352625, 356267, 441193], 'model': 'CPH1801'},
    'd\u00e9': {'duration': 10.5, 'inactive': [90.25, 600000], 'finish_time': 518400, 'active': [80.5, 518000], 'model': None},
    7: {'duration': 0, 'inactive': [], 'finish_time': 1, 'active': (), 'model': True},
}
pickle.dump(trace, open('availability%d.pkl' % p, 'wb'), p)
" $p
done
python3 -c "
import pickle
shared = {'computation': 162.0, 'communication': 5648.109619499134}
pickle.dump({432802: shared, 5: {'computation': 81, 'communication': 1000}, 'x': {'communication': 2**40, 'computation': 324.0}, 9: shared},
            open('capacity.pkl', 'wb'))"
python3 -c "
import pickle, fractions
pickle.dump({1: {'active': fractions.Fraction(1, 2)}}, open('global4.pkl', 'wb'), 4)
pickle.dump({1: {'active': fractions.Fraction(1, 2)}}, open('global2.pkl', 'wb'), 2)
pickle.dump({1: {'active': b'x'}}, open('bytes.pkl', 'wb'), 4)
pickle.dump({1: {'active': 2**64}}, open('wide.pkl', 'wb'), 4)
l = []; l.append(l)
pickle.dump(l, open('recursive.pkl', 'wb'), 4)"
