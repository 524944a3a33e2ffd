"""The hold model in SimPy: "hold.py simpy" for releases 3 and 4, "hold.py SimPy" for
release 2, which has another module name and interface.

The input is a line "pending spans" followed by the spans as 64-bit integers. Command
"fire N" fires N events and returns the elapsed nanoseconds, "times N" returns the times
of N events.
"""

import array
import gc
import sys
import time


def start(module, pending, spans):
    """Returns the simulation, a function that fires the next event, and a function that
    returns the time."""
    fired = 0
    mask = len(spans) - 1

    if module == "simpy":
        import simpy

        def device(env, span):
            nonlocal fired
            timeout = env.timeout
            while True:
                yield timeout(span)
                span = spans[(pending + fired) & mask]
                fired += 1

        env = simpy.Environment()
        for k in range(pending):
            env.process(device(env, spans[k & mask]))
        for _ in range(pending):  # the start of each process is an event
            env.step()
        return simpy.__version__, env.step, lambda: env.now

    import SimPy
    import SimPy.Simulation as release2

    class Device(release2.Process):
        def run(self, span):
            nonlocal fired
            hold = release2.hold
            while True:
                yield hold, self, span
                span = spans[(pending + fired) & mask]
                fired += 1

    simulation = release2.Simulation()
    simulation.initialize()
    for k in range(pending):
        process = Device(sim=simulation)
        simulation.activate(process, process.run(spans[k & mask]))
    for _ in range(pending):
        simulation.step()
    return SimPy.__version__, simulation.step, simulation.now


def main():
    gc.disable()  # there are no cycles among the million objects
    pending, count = map(int, sys.stdin.buffer.readline().split())
    spans = array.array("q")
    spans.frombytes(sys.stdin.buffer.read(count * spans.itemsize))
    version, step, now = start(sys.argv[1], pending, spans)
    print("SimPy", version, flush=True)
    for line in sys.stdin.buffer:
        command, n = line.split()
        if command == b"times":
            times = []
            for _ in range(int(n)):
                step()
                times.append(int(now()))
            print(*times, flush=True)
            continue
        begin = time.perf_counter_ns()
        for _ in range(int(n)):
            step()
        print(time.perf_counter_ns() - begin, flush=True)


if __name__ == "__main__":
    main()
