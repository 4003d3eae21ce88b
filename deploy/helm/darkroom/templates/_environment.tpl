{{/* The value of a setting. Numbers in YAML become floats, which would be printed with an exponent. */}}
{{- define "darkroom.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{/* Settings as environment variables, sorted by name, without empty ones. */}}
{{- define "darkroom.plain" -}}
{{- range $name, $value := . }}
{{- $text := include "darkroom.text" $value }}
{{- if ne $text "" }}
- { name: {{ $name }}, value: {{ $text | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{- define "darkroom.storageSettings" -}}
STORAGE: s3
S3_ENDPOINT: {{ .Values.storage.endpoint | quote }}
S3_REGION: {{ .Values.storage.region | quote }}
S3_BUCKET: {{ .Values.storage.bucket | quote }}
S3_FORCE_PATH_STYLE: {{ .Values.storage.forcePathStyle | quote }}
S3_LINKS: {{ .Values.storage.links | quote }}
S3_PUBLIC_ENDPOINT: {{ .Values.storage.publicEndpoint | quote }}
{{- end }}

{{/* Settings shared by API and worker. */}}
{{- define "darkroom.sharedSettings" -}}
PUBLIC_URL: {{ required "publicUrl is required: the address that callers and browsers use" .Values.publicUrl | quote }}
{{ include "darkroom.storageSettings" . }}
{{- if include "darkroom.modelsConfigMap" . }}
MODELS_FILE: /etc/darkroom/models.yaml
{{- end }}
{{- if .Values.metrics.enabled }}
METRICS_PORT: "9090"
METRICS_HOST: 0.0.0.0
{{- end }}
{{- end }}

{{- define "darkroom.apiSettings" -}}
{{ include "darkroom.sharedSettings" . }}
HOST: 0.0.0.0
PORT: "8080"
SYNC_WAIT_MS: {{ mul .Values.api.syncWaitSeconds 1000 | quote }}
# Not a preStop sleep, because the process has to know: while it stops, each response closes its connection, so that
# clients and proxies with keep-alive reconnect elsewhere in time.
SHUTDOWN_DELAY_MS: {{ mul .Values.api.drainSeconds 1000 | quote }}
SHUTDOWN_GRACE_MS: {{ mul (include "darkroom.apiGrace" .) 1000 | quote }}
TRUSTED_PROXIES: {{ join "," .Values.trustedProxies | quote }}
{{- end }}

{{- define "darkroom.workerSettings" -}}
{{ include "darkroom.sharedSettings" . }}
WORKER_CONCURRENCY: {{ .Values.worker.concurrency | quote }}
# A few are enough: a worker mostly waits for its providers.
DATABASE_POOL: "4"
WORKER_HEALTH_PORT: "8081"
WORKER_HEALTH_HOST: 0.0.0.0
SHUTDOWN_GRACE_MS: {{ mul (include "darkroom.workerGrace" .) 1000 | quote }}
# With glibc's malloc, a worker that generates 4k images needs nearly twice the memory.
LD_PRELOAD: /usr/local/lib/libjemalloc.so.2
{{- end }}

{{/* Grace time of an API in seconds: the longest call, and a little more for a held one to send its response. */}}
{{- define "darkroom.apiGrace" -}}
{{- max .Values.api.longestCallSeconds (add .Values.api.syncWaitSeconds 10) }}
{{- end }}

{{/* Grace time of a worker in seconds: the longest call, and a little more to finish and store the image. */}}
{{- define "darkroom.workerGrace" -}}
{{- add .Values.worker.longestProviderTimeoutSeconds 30 }}
{{- end }}

{{/* Maximum numbers of APIs and workers: the upper limits, plus one during an update. */}}
{{- define "darkroom.mostApis" -}}
{{- with .Values.api }}{{ add 1 (ternary .autoscaling.maxReplicas .replicas .autoscaling.enabled) }}{{ end }}
{{- end }}
{{- define "darkroom.mostWorkers" -}}
{{- with .Values.worker }}{{ add 1 (ternary .replicas .autoscaling.maxReplicas (eq .autoscaling.mode "none")) }}{{ end }}
{{- end }}

{{/* Secret settings by reference; (list . names optional-names). */}}
{{- define "darkroom.secretEnv" -}}
{{- $secrets := (index . 0).Values.secrets }}
{{- range $name := index . 1 | uniq | sortAlpha }}
{{- $place := index $secrets.from $name }}
- name: {{ $name }}
  valueFrom:
{{- if $place }}
    secretKeyRef: { name: {{ $place.name }}, key: {{ $place.key }} }
{{- else if has $name (index $ 2) }}
    secretKeyRef: { name: {{ $secrets.existingSecret }}, key: {{ $name }}, optional: true }
{{- else }}
    secretKeyRef: { name: {{ required "secrets.existingSecret is required" $secrets.existingSecret }}, key: {{ $name }} }
{{- end }}
{{- end }}
{{- end }}

{{/* What extraEnv adds, as a YAML list; a component's own entry replaces that of all pods; (list . values). */}}
{{- define "darkroom.extraEnv" -}}
{{- $own := (index . 1).extraEnv }}
{{- $names := list }}
{{- range $own }}{{ $names = append $names .name }}{{ end }}
{{- $kept := list }}
{{- range (index . 0).Values.extraEnv }}
{{- if not (has .name $names) }}{{ $kept = append $kept . }}{{ end }}
{{- end }}
{{- toYaml (concat $kept $own) }}
{{- end }}

{{/*
The environment of a container of ours: extraEnv replaces whatever has the same name.
(list . values settings required-secrets optional-secrets sources)
*/}}
{{- define "darkroom.containerEnvironment" -}}
{{- $root := index . 0 }}
{{- $extra := include "darkroom.extraEnv" (list $root (index . 1)) | fromYamlArray }}
{{- $settings := index . 2 }}
{{- $names := concat (index . 3) (index . 4) }}
{{- range $extra }}
{{- $settings = omit $settings .name }}
{{- $names = without $names .name }}
{{- end -}}
env:
  {{- with include "darkroom.secretEnv" (list $root $names (index . 4)) | trim }}{{ . | nindent 2 }}{{ end }}
  {{- with include "darkroom.plain" $settings | trim }}{{ . | nindent 2 }}{{ end }}
  {{- with $extra }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with concat (index . 5) $root.Values.extraEnvFrom (index . 1).extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The environment of API, worker or doctor; (list . values computed-settings own-settings optional-secrets). */}}
{{- define "darkroom.environment" -}}
{{- $root := index . 0 }}
{{- $required := list "DATABASE_URL" "REDIS_URL" "SECRET_KEY" "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" }}
{{- $optional := index . 4 }}
{{- $settings := mergeOverwrite (index . 2 | fromYaml) (deepCopy $root.Values.settings) (deepCopy (index . 3)) }}
{{- $sources := list }}
{{- with $root.Values.secrets.providerKeys }}{{ $sources = list (dict "secretRef" (dict "name" .)) }}{{ end }}
{{- $names := concat $required (keys $root.Values.secrets.from) }}
{{- include "darkroom.containerEnvironment" (list $root (index . 1) $settings $names $optional $sources) }}
{{- end }}
