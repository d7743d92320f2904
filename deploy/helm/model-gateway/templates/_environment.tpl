{{/* The variables that win over gateway.yaml: the pod's ports, probes and volumes are made for them. */}}
{{- define "model-gateway.env" -}}
- { name: HOST, value: 0.0.0.0 }
- { name: PORT, value: "8080" }
- { name: DATA_DIR, value: /data }
- { name: LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
{{- if .Values.metrics.enabled }}
- { name: METRICS_HOST, value: 0.0.0.0 }
- { name: METRICS_PORT, value: {{ .Values.metrics.port | quote }} }
{{- else }}
- { name: METRICS_PORT, value: "off" }
{{- end }}
{{- if .Values.config }}
- { name: GATEWAY_CONFIG, value: /etc/model-gateway/gateway.yaml }
{{- end }}
{{- include "model-gateway.address" (dict "variable" "DATABASE_URL" "server" .Values.database "own" (printf "%s-database" (include "model-gateway.fullname" .))) }}
{{- include "model-gateway.address" (dict "variable" "REDIS_URL" "server" .Values.redis "own" (printf "%s-redis" (include "model-gateway.fullname" .))) }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The address of a server, which has its password, from a Secret: one that there is, or the chart's own. */}}
{{- define "model-gateway.address" -}}
{{- if or .server.url .server.existingSecret }}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef: { name: {{ .server.existingSecret | default .own }}, key: {{ if .server.existingSecret }}{{ .server.existingSecretKey }}{{ else }}{{ .variable }}{{ end }} }
{{- end }}
{{- end -}}

{{- define "model-gateway.envFrom" -}}
{{- with include "model-gateway.secret" . }}
- secretRef: { name: {{ . }} }
{{- end }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}
