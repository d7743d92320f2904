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

{{/* Whether data is in Postgres, so that several pods may share it; empty if it is not. */}}
{{- define "model-gateway.isFleet" -}}
{{- $names := list -}}
{{- range .Values.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- if or .Values.database.url .Values.database.existingSecret (has "DATABASE_URL_FILE" $names) }}yes{{ end -}}
{{- end -}}

{{/* What starts the pods. */}}
{{- define "model-gateway.kind" -}}
{{- if and (include "model-gateway.isFleet" .) (not .Values.database.segments.persistent) }}Deployment{{ else }}StatefulSet{{ end -}}
{{- end -}}

{{/* Whether pods are kept from being drained all at once: by default where there are several. */}}
{{- define "model-gateway.hasBudget" -}}
{{- $given := .Values.podDisruptionBudget.enabled -}}
{{- if kindIs "invalid" $given -}}
{{- if and (include "model-gateway.isFleet" .) (or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1)) }}yes{{ end -}}
{{- else if $given }}yes{{ end -}}
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
{{- printf "%s\n%s\n%s\n%s" (toJson .Values.config) (toJson .Values.secrets.values) .Values.database.url .Values.redis.url | sha256sum -}}
{{- end -}}

{{/* The seconds that the gateway takes at most to stop: it waits for stop_delay_seconds and drain_seconds, and charges what is cut off within ten. */}}
{{- define "model-gateway.stopSeconds" -}}
{{- $drain := 30.0 -}}
{{- if hasKey .Values.config "drain_seconds" }}{{ $drain = .Values.config.drain_seconds }}{{ end -}}
{{- add .Values.preStopSeconds (ceil (dig "stop_delay_seconds" 0 .Values.config)) (ceil $drain) 10 -}}
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

{{/* Fails where several pods are asked for without a database that they share. */}}
{{- define "model-gateway.refuseSeveral" -}}
{{- if not (include "model-gateway.isFleet" .) -}}
{{- $remedy := "Set database.existingSecret, or database.url, for a Postgres that they share" -}}
{{- if .Values.autoscaling.enabled -}}
{{- fail (printf "autoscaling.enabled: without Postgres the gateway's database is a file of one pod, so there can be no second. %s, or leave it false, and give the pod more with resources.limits." $remedy) -}}
{{- end -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- fail (printf "replicaCount: %d pods cannot share the gateway's database, which without Postgres is a file. %s, or set it to 1 (or to 0 while a backup is restored), and give the pod more with resources.limits." (int .Values.replicaCount) $remedy) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas: it is more than maxReplicas. Lower it, or raise that." -}}
{{- end -}}
{{- end -}}

{{/* Fails where what is said of Postgres and Redis does not fit together. */}}
{{- define "model-gateway.refuseServers" -}}
{{/* Not by the schema, which would print the address with its password. */}}
{{- range $name, $scheme := dict "database" "postgres(ql)?" "redis" "rediss?" -}}
{{- $server := get $.Values $name -}}
{{- if and $server.url (not (regexMatch (printf "^%s://." $scheme) $server.url)) -}}
{{- fail (printf "%s.url: it does not begin with %s://. Correct the address." $name (regexReplaceAll "\\(ql\\)\\?|s\\?" $scheme "")) -}}
{{- end -}}
{{- if and $server.url $server.existingSecret -}}
{{- fail (printf "%s: url and existingSecret are both set. Put the address into the Secret that there is, or leave its name empty." $name) -}}
{{- end -}}
{{- end -}}
{{- if and (include "model-gateway.isFleet" .) .Values.backup.enabled -}}
{{- fail "backup.enabled: all data is in Postgres. Back that up by its own means (pg_dump, or your provider's), and leave this false." -}}
{{- end -}}
{{- $inConfig := dig "redis" "url" "" .Values.config -}}
{{- if and (contains "@" $inConfig) (not (contains "${" $inConfig)) -}}
{{- fail "config.redis.url: a secret stands here in plain text. Set redis.existingSecret, or write ${NAME} for a variable of `secrets`." -}}
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
{{- if has .name (list "HOST" "PORT" "DATA_DIR" "LOG_LEVEL" "METRICS_HOST" "METRICS_PORT" "GATEWAY_CONFIG" "DATABASE_URL" "REDIS_URL") -}}
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
{{- include "model-gateway.refuseServers" . -}}
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
