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
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
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

{{/* Labels and annotations of a pod; (list . component values). */}}
{{- define "darkroom.podMetadata" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
{{- $labels := include "darkroom.selectorLabels" . | fromYaml -}}
labels:
  {{- toYaml (mergeOverwrite (deepCopy $root.Values.podLabels) (deepCopy $values.podLabels) $labels) | nindent 2 }}
{{- with mergeOverwrite (deepCopy $root.Values.podAnnotations) (deepCopy $values.podAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "darkroom.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "darkroom.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "darkroom.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{/* For Jobs before the first install, when no other object of the chart exists yet. */}}
{{- define "darkroom.jobServiceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ include "darkroom.serviceAccountName" . }}-jobs{{ else }}{{ include "darkroom.serviceAccountName" . }}{{ end }}
{{- end }}

{{/*
The spec of any pod, besides its own containers and volumes; (list . component values). Lists of a component are added to
those of all pods, maps of strings are merged, and everything else replaces the value of all pods.
*/}}
{{- define "darkroom.podBasics" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
{{- $all := $root.Values -}}
automountServiceAccountToken: false
# Kubernetes' variables for Services look like our settings.
enableServiceLinks: false
{{- with default $all.podSecurityContext $values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $all.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $all.priorityClassName $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with default $all.dnsPolicy $values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with default $all.dnsConfig $values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat $all.hostAliases $values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with mergeOverwrite (deepCopy $all.nodeSelector) (deepCopy $values.nodeSelector) }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat $all.tolerations $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $all.affinity $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $spread := default $all.topologySpreadConstraints $values.topologySpreadConstraints }}
{{- if $spread }}
topologySpreadConstraints:
  {{- toYaml $spread | nindent 2 }}
{{- else if has (index . 1) (list "api" "worker") }}
topologySpreadConstraints:
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
{{- with concat $all.initContainers $values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with mergeOverwrite (deepCopy $all.extraPodSpec) (deepCopy $values.extraPodSpec) }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Containers beside ours; (list . values). */}}
{{- define "darkroom.extraContainers" -}}
{{- with concat (index . 0).Values.extraContainers (index . 1).extraContainers }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Common to all containers of ours; (list . values). */}}
{{- define "darkroom.containerBasics" -}}
{{- $all := (index . 0).Values -}}
image: {{ include "darkroom.image" (index . 0) }}
imagePullPolicy: {{ $all.image.pullPolicy }}
{{- with default $all.containerSecurityContext (index . 1).containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list . values with-the-catalog); Jobs before the first install go without it, because it does not exist yet. */}}
{{- define "darkroom.volumeMounts" -}}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- if and (index . 2) (include "darkroom.modelsConfigMap" (index . 0)) }}
  # The whole folder, because a file mounted with subPath is never updated.
  - { name: models, mountPath: /etc/darkroom, readOnly: true }
{{- end }}
{{- with concat (index . 0).Values.extraVolumeMounts (index . 1).extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list . values with-the-catalog) */}}
{{- define "darkroom.volumes" -}}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
{{- if index . 2 }}
{{- with include "darkroom.modelsConfigMap" (index . 0) }}
  - name: models
    configMap: { name: {{ . }} }
{{- end }}
{{- end }}
{{- with concat (index . 0).Values.extraVolumes (index . 1).extraVolumes }}
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

{{/* Path of publicUrl, without a slash at its end: empty, or for example /images. */}}
{{- define "darkroom.publicPath" -}}
{{- get (urlParse .Values.publicUrl) "path" | trimSuffix "/" }}
{{- end }}
