"""CPU seconds of three readers of the same ARFF file: python read_arff.py FILE"""
import resource, subprocess, sys, time, arff, scipy.io.arff
path = sys.argv[1]

def ours():
    subprocess.run(["pomdp-fs", "data", "info", path], check=True, stdout=subprocess.DEVNULL)

def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

def best(read, clock, times):
    seconds = []
    for _ in range(times):
        start = clock()
        read()
        seconds.append(clock() - start)
    return min(seconds)

# CPU seconds, so that other work on the machine counts little; the best of some runs.
print("pomdp-fs data info      %.3f s" % best(ours, children, 20))
print("scipy.io.arff.loadarff  %.3f s" % best(lambda: scipy.io.arff.loadarff(path), time.process_time, 5))
print("liac-arff load          %.3f s" % best(lambda: arff.load(open(path)), time.process_time, 5))
