{{- define "submit"}}
hq
submit
{{.File}}
{{end -}}
#!/bin/bash
#HQ --name=fedsim-{{.Name}}
#HQ --array=1-{{.Tasks}}
#HQ --cpus={{.Cores}}
#HQ --crash-limit=0
{{- range .Options}}
#HQ {{.}}
{{- end}}

# A task that is stopped or killed is not sent again by HyperQueue: "fedsim submit" sends
# the missing groups. A task whose machine is lost runs again elsewhere.
cd {{quote .Here}}
{{with .Data}}export FEDSIM_DATA={{quote .}}
{{end -}}
exec {{quote .Command}}
