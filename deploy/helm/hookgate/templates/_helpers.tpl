{{- define "hookgate.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "hookgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "hookgate.name" .) .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "hookgate.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "hookgate.selector" -}}
app.kubernetes.io/name: {{ include "hookgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hookgate.labels" -}}
{{ include "hookgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: hookgate
{{- end }}

{{- define "hookgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "hookgate.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "hookgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "hookgate.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{ include "hookgate.fullname" . }}-tls
{{- else -}}
{{ .Values.tls.existingSecret }}
{{- end }}
{{- end }}

{{- /* A ConfigMap of files, by the name of the values that have them: empty where there is none. */ -}}
{{- define "hookgate.configMap" -}}
{{- $of := index .root.Values .what -}}
{{- if $of.existingConfigMap -}}
{{ $of.existingConfigMap }}
{{- else if .some -}}
{{ include "hookgate.fullname" .root }}-{{ .what }}
{{- end }}
{{- end }}

{{- define "hookgate.hooksMap" -}}
{{ include "hookgate.configMap" (dict "root" . "what" "config" "some" .Values.config.hooks) }}
{{- end }}
{{- define "hookgate.chainsMap" -}}
{{ include "hookgate.configMap" (dict "root" . "what" "chains" "some" .Values.chains.files) }}
{{- end }}
{{- define "hookgate.agentsMap" -}}
{{ include "hookgate.configMap" (dict "root" . "what" "agents" "some" .Values.agents.files) }}
{{- end }}
{{- define "hookgate.callersMap" -}}
{{- if not (or .Values.callers.existingSecret .Values.callers.allowAnonymous) -}}
{{ include "hookgate.configMap" (dict "root" . "what" "callers" "some" .Values.callers.file) }}
{{- end }}
{{- end }}
