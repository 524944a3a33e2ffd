/* The common part of the C programs: a task from standard input, a line of output for each
 * line of commands, and a clock.
 *
 * The input is a line "solver rows cols C warm timed" followed by rows labels and rows x cols
 * features, as doubles in native byte order. */
#ifndef TASK_H
#define TASK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct task {
	int solver;      /* of LIBLINEAR: 1 is the squared hinge, 12 the squared loss */
	int rows, cols;
	double c;        /* weight of the losses against 1/2 |w|^2 */
	int warm, timed; /* untimed passes, then timed passes */
	double *y, *x;
};

static void fail(const char *message)
{
	fprintf(stderr, "%s\n", message);
	_Exit(1);
}

static void *allocate(size_t bytes)
{
	void *p = malloc(bytes);
	if (!p)
		fail("out of memory");
	return p;
}

static void read_values(void *to, size_t size, size_t count)
{
	if (fread(to, size, count, stdin) != count)
		fail("the task ends too early");
}

static struct task read_task(void)
{
	struct task t;
	if (scanf("%d %d %d %lf %d %d", &t.solver, &t.rows, &t.cols, &t.c, &t.warm, &t.timed) != 6 || getchar() != '\n')
		fail("a task begins with solver, rows, cols, C, warm and timed passes");
	size_t rows = t.rows, values = rows * t.cols;
	t.y = allocate(rows * sizeof *t.y);
	t.x = allocate(values * sizeof *t.x);
	read_values(t.y, sizeof *t.y, rows);
	read_values(t.x, sizeof *t.x, values);
	return t;
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Each program defines these. */
static long long time_passes(void);           /* ns of the timed passes, from zero */
static void print_weights(void);              /* after all passes, or at the optimum */

/* Command "time N" returns the nanoseconds of N times the timed passes, "weights" returns
 * w. The end of the input ends the program. */
static int answer_commands(void)
{
	char command[16];
	while (scanf("%15s", command) == 1) {
		if (command[0] == 't') {
			int repeats;
			if (scanf("%d", &repeats) != 1)
				fail("time needs a number");
			long long ns = 0;
			while (repeats-- > 0)
				ns += time_passes();
			printf("%lld\n", ns);
		} else {
			print_weights();
		}
		fflush(stdout);
	}
	return 0;
}

#endif
