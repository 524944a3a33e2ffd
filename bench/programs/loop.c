/* A hand-optimized loop of dual coordinate ascent: dense padded rows in one array, a dot
 * product of four independent sums, an axpy. The order of the rows follows the task in the
 * input, an int32 for each step of all passes. */
#include <math.h>
#include <string.h>
#include <stdint.h>
#include <sys/mman.h>

#include "task.h"

/* The compiler uses one register of AVX-512 or two of AVX2. */
typedef double vector __attribute__((vector_size(64)));
enum { LANES = sizeof(vector) / sizeof(double) };

static struct task task;
static int stride;       /* vectors in a row */
static double curvature; /* w is curvature X^T a */
static vector *rows, *w;
static double *norms, *a;
static int32_t *order;

static double dot(const vector *restrict x, const vector *restrict u)
{
	vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
	int j = 0;
	for (; j + 4 <= stride; j += 4) {
		s0 += x[j] * u[j];
		s1 += x[j + 1] * u[j + 1];
		s2 += x[j + 2] * u[j + 2];
		s3 += x[j + 3] * u[j + 3];
	}
	for (; j < stride; j++)
		s0 += x[j] * u[j];
	s0 = (s0 + s1) + (s2 + s3);
	return ((s0[0] + s0[4]) + (s0[2] + s0[6])) + ((s0[1] + s0[5]) + (s0[3] + s0[7]));
}

static void axpy(double f, const vector *restrict x, vector *restrict u)
{
	for (int j = 0; j < stride; j++)
		u[j] += f * x[j];
}

/* The dual variable that minimizes along the coordinate of a row; z is w.x. */
static double minimiser(double a, double y, double z, double norm)
{
	if (task.solver == 1)
		return y * fmax(0, y * a + (1 - y * z - y * a / 2) / (curvature * norm + 0.5));
	return a + (y - z - a) / (1 + curvature * norm);
}

/* Runs passes and returns the number of steps that moved. */
static long passes(const int32_t *visit, int count)
{
	long moved = 0;
	for (long steps = (long)count * task.rows; steps > 0; steps--) {
		int i = *visit++;
		const vector *x = rows + (size_t)i * stride;
		double b = minimiser(a[i], task.y[i], dot(x, w), norms[i]);
		if (b == a[i])
			continue;
		axpy(curvature * (b - a[i]), x, w);
		a[i] = b;
		moved++;
	}
	return moved;
}

static void *zeros(size_t vectors)
{
	size_t bytes = vectors * sizeof(vector);
	void *p;
	if (posix_memalign(&p, bytes < (2 << 20) ? sizeof(vector) : 2 << 20, bytes))
		fail("out of memory");
	madvise(p, bytes, MADV_HUGEPAGE); /* ignored if not supported */
	return memset(p, 0, bytes);
}

static void warm_up(void)
{
	memset(a, 0, task.rows * sizeof *a);
	memset(w, 0, stride * sizeof *w);
	passes(order, task.warm);
}

static long timed_passes(void) { return passes(order + (size_t)task.warm * task.rows, task.timed); }

static long long time_passes(void)
{
	warm_up();
	long long from = now();
	long moved = timed_passes();
	long long ns = now() - from;
	if (moved != (long)task.timed * task.rows)
		fail("a step left its coordinate where it was");
	return ns;
}

static void print_weights(void)
{
	warm_up();
	timed_passes();
	for (int j = 0; j < task.cols; j++)
		printf("%.17g ", ((double *)w)[j]);
	printf("\n");
}

int main(void)
{
	task = read_task();
	curvature = task.solver == 1 ? task.c : 2 * task.c;
	stride = (task.cols + LANES - 1) / LANES;
	rows = zeros((size_t)task.rows * stride);
	w = zeros(stride);
	norms = allocate(task.rows * sizeof *norms);
	a = allocate(task.rows * sizeof *a);
	for (int i = 0; i < task.rows; i++) {
		vector *row = rows + (size_t)i * stride;
		memcpy(row, task.x + (size_t)i * task.cols, task.cols * sizeof *task.x);
		norms[i] = dot(row, row);
	}
	free(task.x);
	size_t steps = (size_t)(task.warm + task.timed) * task.rows;
	order = allocate(steps * sizeof *order);
	read_values(order, sizeof *order, steps);
	printf("C, gcc %s\n", __VERSION__);
	fflush(stdout);
	return answer_commands();
}
