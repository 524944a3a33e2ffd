"""Mini-batch SGD in NumPy, and scikit-learn's SGDClassifier, on dense rows of classes.

The input is a line "rows columns classes hidden" followed by the rows, the class of each
row, the order of the rows, and the first values of the network, as 64-bit floats. Command
"softmax" is a pass of softmax regression from zero in batches of 10 rows, "mlp" a pass of a
network with a hidden layer of ReLU in batches of 32, "sgd" a pass of SGDClassifier over all
classes. Each returns the elapsed nanoseconds; "values" returns the last model.
"""

import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

STEP = 0.01


def softmax_slopes(z, targets):
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    z -= targets


def softmax(x, targets, order, batch, w, step=STEP):
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        xb = x[rows]
        z = xb @ w.T
        softmax_slopes(z, targets[rows])
        z *= step / len(rows)
        w -= z.T @ xb


def mlp(x, targets, order, batch, w1, b1, w2, b2, step=STEP):
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        xb = x[rows]
        h = xb @ w1.T
        h += b1
        np.maximum(h, 0, out=h)
        z = h @ w2.T
        z += b2
        softmax_slopes(z, targets[rows])
        z *= step / len(rows)
        dh = z @ w2
        dh *= h > 0
        w2 -= z.T @ h
        b2 -= z.sum(axis=0)
        w1 -= dh.T @ xb
        b1 -= dh.sum(axis=0)


def main():
    rows, columns, classes, hidden = map(int, sys.stdin.buffer.readline().split())

    def take(*shape):
        return np.frombuffer(sys.stdin.buffer.read(8 * int(np.prod(shape)))).reshape(shape)

    x = take(rows, columns)
    y = take(rows).astype(int)
    order = take(rows).astype(int)
    first = take(hidden * (columns + 1) + classes * (hidden + 1))
    targets = np.eye(classes)[y]
    try:
        import sklearn
        from sklearn.linear_model import SGDClassifier

        versions = f"scikit-learn {sklearn.__version__}"
    except ImportError:
        versions = "none"
    print(f"NumPy {np.__version__},{versions}", flush=True)
    model = np.zeros(0)
    for line in sys.stdin:
        command = line.strip()
        if command == "values":
            print(*map(repr, map(float, model)), flush=True)
            continue
        if command == "softmax":
            w = np.zeros((classes, columns))
            begin = time.perf_counter_ns()
            softmax(x, targets, order, 10, w)
            took = time.perf_counter_ns() - begin
            model = w.ravel()
        elif command == "mlp":
            model = first.copy()
            cut = [hidden * columns, hidden * (columns + 1), hidden * (columns + 1) + classes * hidden]
            w1, b1, w2, b2 = np.split(model, cut)  # views
            w1, w2 = w1.reshape(hidden, columns), w2.reshape(classes, hidden)
            begin = time.perf_counter_ns()
            mlp(x, targets, order, 32, w1, b1, w2, b2)
            took = time.perf_counter_ns() - begin
        else:
            learner = SGDClassifier(loss="log_loss", alpha=1e-12, learning_rate="constant", eta0=STEP, random_state=1)
            begin = time.perf_counter_ns()
            learner.partial_fit(x, y, classes=np.arange(classes))
            took = time.perf_counter_ns() - begin
        print(took, flush=True)


if __name__ == "__main__":
    main()
