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
{{- with .Values.extraEnv }}
{{ toYaml . }}
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
