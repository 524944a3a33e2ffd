{{- define "submit"}}
sbatch
{{.File}}
{{end -}}
#!/bin/bash
#SBATCH --job-name=fedsim-{{.Name}}
#SBATCH --array=1-{{.Tasks}}
#SBATCH --time={{.Minutes}}
#SBATCH --mem={{.MemoryMiB}}M
#SBATCH --cpus-per-task={{.Cores}}
#SBATCH --output=slurm-%A_%a.out
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
{{- range .Options}}
#SBATCH {{.}}
{{- end}}

cd {{quote .Here}}
{{with .Data}}export FEDSIM_DATA={{quote .}}
{{end -}}
# Slurm sends TERM to this shell a minute before the time limit, and when the job gives way to
# another. The worker then saves checkpoints and exits with 75. A signal ends a wait early.
trap 'stopped=1; kill -TERM "$worker" 2>/dev/null' TERM
{{quote .Command}} &
worker=$!
stopped=1
while [ "$stopped" ]; do
	stopped=
	wait "$worker"
	status=$?
done

# An interrupted task goes back to the queue, but not one that is being canceled: its state
# is COMPLETING.
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
if [ "$status" = 75 ] && [ "$(squeue --noheader --jobs="$task" --format=%T)" = RUNNING ]; then
	scontrol requeue "$task"
fi
exit "$status"
