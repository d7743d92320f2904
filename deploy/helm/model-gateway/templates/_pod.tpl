{{/* The pod, whatever starts it. */}}
{{- define "model-gateway.pod" -}}
metadata:
  labels:
    {{- include "model-gateway.selectorLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "model-gateway.checksum" . }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "model-gateway.serviceAccount" . }}
  automountServiceAccountToken: false
  # Variables of other services, as MODEL_GATEWAY_PORT, are of no use to it.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "model-gateway.gracePeriod" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.extraInitContainers }}
  initContainers: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: gateway
      image: {{ include "model-gateway.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env: {{- include "model-gateway.env" . | nindent 8 }}
      {{- with include "model-gateway.envFrom" . }}
      envFrom: {{- . | nindent 8 }}
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
        {{- if .Values.metrics.enabled }}
        - { name: metrics, containerPort: {{ .Values.metrics.port }} }
        {{- end }}
      startupProbe:
        httpGet: { path: /readyz, port: http }
        {{- toYaml .Values.startupProbe | nindent 8 }}
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        {{- toYaml .Values.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        {{- toYaml .Values.readinessProbe | nindent 8 }}
      {{- if gt (int .Values.preStopSeconds) 0 }}
      lifecycle:
        preStop:
          sleep: { seconds: {{ .Values.preStopSeconds }} }
      {{- end }}
      securityContext: {{- toYaml .Values.securityContext | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if .Values.config }}
        - { name: config, mountPath: /etc/model-gateway, readOnly: true }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- with include "model-gateway.dataVolume" . }}
    {{- . | nindent 4 }}
    {{- end }}
    - { name: tmp, emptyDir: {} }
    {{- if .Values.config }}
    - { name: config, configMap: { name: {{ include "model-gateway.fullname" . }} } }
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "model-gateway.spread" . | trim }}
  topologySpreadConstraints: {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* /data: the database and its journal, or, with Postgres, what calls cost while that was away. */}}
{{- define "model-gateway.dataVolume" -}}
{{- if not (include "model-gateway.isFleet" .) -}}
- name: data
  {{- if .Values.persistence.enabled }}
  persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim | default (include "model-gateway.fullname" .) }} }
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- else if not .Values.database.segments.persistent -}}
- name: data
  emptyDir: { sizeLimit: {{ .Values.database.segments.size }} }
{{- end -}}
{{- end -}}

{{/* Pods of a fleet on as many zones and nodes as there are, where nothing else is said. */}}
{{- define "model-gateway.spread" -}}
{{- if .Values.topologySpreadConstraints -}}
{{- toYaml .Values.topologySpreadConstraints -}}
{{- else if include "model-gateway.isFleet" . -}}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "model-gateway.selectorLabels" $ | nindent 6 }}
{{- end -}}
{{- end -}}
{{- end -}}
