{{- define "darkroom.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Leaves room for our suffixes. */}}
{{- define "darkroom.fullname" -}}
{{- $name := include "darkroom.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels of an object; (list . component). */}}
{{- define "darkroom.labels" -}}
{{- $root := index . 0 -}}
{{ include "darkroom.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Values.image.tag | default $root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{/* Selector labels, which never change during the life of a release; (list . component). */}}
{{- define "darkroom.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "darkroom.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of a pod; (list . component values). */}}
{{- define "darkroom.podLabels" -}}
{{- $labels := include "darkroom.selectorLabels" . | fromYaml }}
{{- toYaml (mergeOverwrite (deepCopy (index . 2).podLabels) $labels) }}
{{- end }}

{{- define "darkroom.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "darkroom.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "darkroom.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{/* Restrictions of all pods: the Pod Security Standard "restricted", and more. */}}
{{- define "darkroom.podBasics" -}}
automountServiceAccountToken: false
# Kubernetes' variables for Services look like our settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Scheduling of a Deployment's pods; (list . component values). */}}
{{- define "darkroom.scheduling" -}}
{{- $values := index . 2 -}}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "darkroom.selectorLabels" $ | nindent 8 }}
    # Spread each version separately, independent of where the old pods run.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end }}

{{/* Common to all containers. */}}
{{- define "darkroom.containerBasics" -}}
image: {{ include "darkroom.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "darkroom.volumeMounts" -}}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- if include "darkroom.modelsConfigMap" . }}
  # The whole folder, because a file mounted with subPath is never updated.
  - { name: models, mountPath: /etc/darkroom, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "darkroom.volumes" -}}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
{{- with include "darkroom.modelsConfigMap" . }}
  - name: models
    configMap: { name: {{ . }} }
{{- end }}
{{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* For Jobs before the first install: without the catalog, which does not exist yet. */}}
{{- define "darkroom.hookMounts" -}}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "darkroom.hookVolumes" -}}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
{{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "darkroom.modelsConfigMap" -}}
{{- if .Values.models.existingConfigMap }}{{ .Values.models.existingConfigMap }}{{ else if .Values.models.inline }}{{ include "darkroom.fullname" . }}-models{{ end }}
{{- end }}

{{/* (list . what-needs-it whose-pods) */}}
{{- define "darkroom.requireTrustedProxies" -}}
{{- if not (index . 0).Values.trustedProxies }}
{{- fail (printf "%s.enabled needs trustedProxies: the network of %s pods, or all callers count as one" (index . 1) (index . 2)) }}
{{- end }}
{{- end }}
