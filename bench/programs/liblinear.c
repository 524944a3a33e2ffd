/* The dual coordinate descent of LIBLINEAR (solvers 1 and 12) in the packaged library. The
 * library runs until it converges; the number of passes cannot be set. It prints a dot every
 * ten passes through a callback. So each timing runs in a separate process, which reads the
 * clock at two dots and ends at the second one. */
#include <linear.h>
#include <sys/wait.h>
#include <unistd.h>

#include "task.h"

static struct task task;
static struct problem problem;
static struct parameter parameter;

static int answer[2]; /* the pipe from the process that trains */
static int dots;
static long long from;

static void at_dot(const char *text)
{
	if (text[0] == '*')
		fail("LIBLINEAR has shrunk its active set");
	if (text[0] != '.')
		return;
	dots++;
	if (dots == task.warm / 10)
		from = now();
	if (dots == (task.warm + task.timed) / 10) {
		long long ns = now() - from;
		_exit(write(answer[1], &ns, sizeof ns) != sizeof ns);
	}
}

static void silent(const char *text) { (void)text; }

static long long time_passes(void)
{
	long long ns;
	int status;
	if (pipe(answer))
		fail("no pipe");
	pid_t child = fork();
	if (child < 0)
		fail("no process");
	if (child == 0) {
		dots = 0;
		parameter.eps = 1e-300;
		set_print_string_function(at_dot);
		train(&problem, &parameter);
		fail("LIBLINEAR has converged before the timed passes were over");
	}
	close(answer[1]);
	ssize_t got = read(answer[0], &ns, sizeof ns);
	close(answer[0]);
	waitpid(child, &status, 0);
	if (got != sizeof ns || status != 0)
		fail("LIBLINEAR did not make the timed passes");
	return ns;
}

static void print_weights(void)
{
	set_print_string_function(silent);
	parameter.eps = 1e-13;
	struct model *model = train(&problem, &parameter);
	/* w is for the class of the first row; a regression has no classes. */
	int sign = model->label ? model->label[0] : 1;
	for (int j = 0; j < task.cols; j++)
		printf("%.17g ", sign * model->w[j]);
	printf("\n");
	free_and_destroy_model(&model);
}

int main(void)
{
	task = read_task();
	parameter.solver_type = task.solver;
	parameter.C = task.c;
	problem.l = task.rows;
	problem.n = task.cols;
	problem.y = task.y;
	problem.bias = -1;
	problem.x = allocate(task.rows * sizeof *problem.x);
	/* One array for all rows, as in the program train of LIBLINEAR. */
	struct feature_node *node = allocate((size_t)task.rows * (task.cols + 1) * sizeof *node);
	for (int i = 0; i < task.rows; i++) {
		problem.x[i] = node;
		for (int j = 0; j < task.cols; j++)
			*node++ = (struct feature_node){j + 1, task.x[(size_t)i * task.cols + j]};
		*node++ = (struct feature_node){-1, 0};
	}
	free(task.x);
	printf("LIBLINEAR %d.%02d\n", liblinear_version / 100, liblinear_version % 100);
	fflush(stdout);
	return answer_commands();
}
