{{- define "model-gateway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 58 | trimSuffix "-" -}}
{{- end -}}

{{- define "model-gateway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "model-gateway.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "model-gateway.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ include "model-gateway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "model-gateway.labels" -}}
{{ include "model-gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* What every object begins with. */}}
{{- define "model-gateway.metadata" -}}
name: {{ include "model-gateway.fullname" . }}
namespace: {{ .Release.Namespace }}
labels: {{- include "model-gateway.labels" . | nindent 2 }}
{{- end -}}

{{- define "model-gateway.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "model-gateway.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.secret" -}}
{{- if .Values.secrets.existingSecret -}}
{{- .Values.secrets.existingSecret -}}
{{- else if .Values.secrets.values -}}
{{- include "model-gateway.fullname" . -}}
{{- end -}}
{{- end -}}

{{/* The variables that replace `${NAME}` in gateway.yaml come from the environment, which is read at the start alone: a change of
     either begins a new pod. */}}
{{- define "model-gateway.checksum" -}}
{{- printf "%s\n%s" (toJson .Values.config) (toJson .Values.secrets.values) | sha256sum -}}
{{- end -}}

{{/* The seconds that the gateway takes at most to stop: it waits for drain_seconds, and charges what is cut off within ten. */}}
{{- define "model-gateway.stopSeconds" -}}
{{- $drain := 30.0 -}}
{{- if hasKey .Values.config "drain_seconds" }}{{ $drain = .Values.config.drain_seconds }}{{ end -}}
{{- add .Values.preStopSeconds (ceil $drain) 10 -}}
{{- end -}}

{{- define "model-gateway.gracePeriod" -}}
{{- $needed := int (include "model-gateway.stopSeconds" .) -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}
{{- add $needed 5 -}}
{{- else if lt (int $given) $needed -}}
{{- fail (printf "terminationGracePeriodSeconds: %d is less than the %d seconds that the gateway may take to stop (preStopSeconds, config.drain_seconds and ten). Raise it, or lower those." (int $given) $needed) -}}
{{- else -}}
{{- int $given -}}
{{- end -}}
{{- end -}}

{{/* Fails where several pods are asked for: the database is a file with one gateway. */}}
{{- define "model-gateway.refuseSeveral" -}}
{{- if .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled: the gateway's database is a file of one pod, so there can be no second. Leave it false, and give the pod more with resources.limits." -}}
{{- end -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- fail (printf "replicaCount: %d pods cannot share the gateway's database, which is a file. Set it to 1 (or to 0 while a backup is restored), and give the pod more with resources.limits." (int .Values.replicaCount)) -}}
{{- end -}}
{{- end -}}

{{/* Fails where a secret stands in gateway.yaml itself: a ConfigMap is read by many who may read no Secret. */}}
{{- define "model-gateway.refusePlain" -}}
{{- range $name, $value := .values -}}
{{- $isSecret := or (has $name (list "api_key" "operator_key")) (and $.named (regexMatch "(?i)auth|key|token|secret|password|cookie|credential" $name)) -}}
{{- if and $isSecret (kindIs "string" $value) $value (not (contains "${" $value)) -}}
{{- fail (printf "config.%s%s: a secret stands here in plain text. Put it into a Secret (secrets), and write ${NAME} for its variable." $.at $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.refuseSecrets" -}}
{{- include "model-gateway.refusePlain" (dict "at" "" "values" .Values.config) -}}
{{- include "model-gateway.refusePlain" (dict "at" "telemetry.headers." "values" (dig "telemetry" "headers" dict .Values.config) "named" true) -}}
{{- range $i, $upstream := .Values.config.upstreams -}}
{{- $at := printf "upstreams[%d]." $i -}}
{{- include "model-gateway.refusePlain" (dict "at" $at "values" $upstream) -}}
{{- range $upstream.api_keys -}}
{{- include "model-gateway.refusePlain" (dict "at" (printf "%sapi_keys: " $at) "values" (dict "api_key" .)) -}}
{{- end -}}
{{- range list "headers" "query" -}}
{{- include "model-gateway.refusePlain" (dict "at" (printf "%s%s." $at .) "values" (get $upstream . | default dict) "named" true) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails where a variable of the chart's own is set twice: the later one would win, and the database lie outside of its volume. */}}
{{- define "model-gateway.refuseOwnVariables" -}}
{{- range .Values.extraEnv -}}
{{- if has .name (list "HOST" "PORT" "DATA_DIR" "LOG_LEVEL" "METRICS_HOST" "METRICS_PORT" "GATEWAY_CONFIG") -}}
{{- fail (printf "extraEnv: %s is set by the chart, whose ports, volumes and probes are made for it. Leave it out, and set the chart's own value." .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.checks" -}}
{{- include "model-gateway.refuseSecrets" . -}}
{{- include "model-gateway.refuseOwnVariables" . -}}
{{- if and .Values.metrics.enabled (eq (int .Values.metrics.port) 8080) -}}
{{- fail "metrics.port: 8080 is the port of the gateway itself. Choose another." -}}
{{- end -}}
{{- include "model-gateway.refuseSeveral" . -}}
{{- if and .Values.secrets.existingSecret .Values.secrets.values -}}
{{- fail "secrets: existingSecret and values are both set. Put the values into the Secret that there is, or leave its name empty." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts: name at least one host, or set ingress.enabled to false." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: name the Gateway that the route belongs to, or set httpRoute.enabled to false." -}}
{{- end -}}
{{- if and .Values.backup.enabled (not .Values.persistence.enabled) -}}
{{- fail "backup.enabled: there is nothing to back up. Set persistence.enabled to true." -}}
{{- end -}}
{{- if not .Values.metrics.enabled -}}
{{- range list "serviceMonitor" "prometheusRule" "dashboard" -}}
{{- if (get $.Values.metrics .).enabled -}}
{{- fail (printf "metrics.%s.enabled: there are no metrics. Set metrics.enabled to true." .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
