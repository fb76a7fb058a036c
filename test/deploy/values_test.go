package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
)

func seconds(t *testing.T, text string) int64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return int64(d.Seconds())
}

func TestK7_ValuesThatMakeNoSenseAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"replicaCuont: 3":                                                      "replicaCuont",
		"replicaCount: two":                                                    "/replicaCount",
		"replicaCount: 0":                                                      "/replicaCount",
		"image: {digest: latest}":                                              "/image/digest",
		"image: {pullPolicy: Sometimes}":                                       "/image/pullPolicy",
		"config: {existingConfigMap: Our_Hooks}":                               "/config/existingConfigMap",
		"chains: {files: {a/b: x}}":                                            "invalid propertyName 'a/b'",
		"callers: {file: ''}":                                                  "callers: give a file",
		"callers: {file: '', existingSecrte: mine}":                            "existingSecrte",
		"settings: {ADDR: 0.0.0.0:80}":                                         "invalid propertyName 'ADDR'",
		"settings: {MAX_IN_FLIGHT: 1.5}":                                       "/settings/MAX_IN_FLIGHT",
		"settings: {log_level: warn}":                                          "invalid propertyName 'log_level'",
		"audit: {database: true}":                                              "/database/existingSecret",
		"audit: {file: {volume: {emptyDir: {}, hostPath: {path: /var}}}}":      "/audit/file/volume",
		"audit: {file: {volume: audit}}":                                       "/audit/file/volume",
		"settings: {AUDIT_FILE: /tmp/audit.jsonl}":                             "invalid propertyName 'AUDIT_FILE'",
		"preStopSeconds: 0\ndrainDelaySeconds: 0":                              "/drainDelaySeconds",
		"sidecars: [{name: a, image: b, restartPolicy: Never}]":                "/sidecars/0/restartPolicy",
		"secrets: [a, a]":                                                      "/secrets",
		"service: {port: 70000}":                                               "/service/port",
		"tls: {certManager: {enabled: true}}":                                  "/tls/certManager/issuerRef/name",
		"autoscaling: {enabled: true, cpuUtilization: 0, requestsInFlight: 0}": "/autoscaling",
		"networkPolicy: {hooks: [{cidr: dlp.example.com, ports: [443]}]}":      "/networkPolicy/hooks/0/cidr",
		"networkPolicy: {hooks: [{cidr: 10.0.0.0/8}]}":                         "/networkPolicy/hooks/0",
		"monitoring: {serviceMonitor: {interval: often}}":                      "/monitoring/serviceMonitor/interval",
		"resources: {limits: {memory: null, cpu: 1}}":                          "/resources/limits",
		"extraVolumeMounts: [{name: config, mountPath: /x/hooks.yaml, subPath: hooks.yaml}]": "/extraVolumeMounts/0",
	} {
		if _, err := Render(t.Context(), load(t), values); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, want one that says %q", values, err, want)
		}
	}
}

func TestK1_ATemplateThatNamesAValueThatIsNotThereIsAnError(t *testing.T) {
	c := load(t)
	c.Templates = append(c.Templates, &common.File{Name: "templates/misspelt.yaml", Data: []byte("replicas: {{ .Values.replicaCuont }}")})
	if _, err := Render(t.Context(), c, "{}"); !strings.Contains(fmt.Sprint(err), "replicaCuont") {
		t.Errorf("error %v", err)
	}
}
