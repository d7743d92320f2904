#!/usr/bin/env bash
# What a newcomer waits for: an empty Debian with nothing but the executable answers a first call; and `npx` of the packed package, in an
# empty folder with an empty cache. Prints seconds.
#
# usage: tools/newcomer.sh, as root, after `npm run build`. DEBIAN_ROOT keeps the empty Debian for the next time; DEBIAN_MIRROR is where
# debootstrap fetches it from.
set -euo pipefail

project=$(cd "$(dirname "$0")/.." && pwd)
dist=$project/dist
node=$project/node_modules/.bin/node
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=${DEBIAN_SUITE:-bookworm}
root=${DEBIAN_ROOT:-}
work=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill -- "-$server" 2>/dev/null || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
[ -x "$dist/model-gateway" ] || { echo "dist/model-gateway is missing: npm run build makes it" >&2; exit 1; }

now() { date +%s%N; }
seconds() { awk "BEGIN { printf \"%.2f\", ($2 - $1) / 1e9 }"; }
free_port() { "$node" -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }

# Waits until the demo has written its key, and asks for an answer. usage: first_answer PORT DEMO_FILE
first_answer() {
  until [ -s "$2" ] && curl -sf "http://127.0.0.1:$1/v1/chat/completions" -H "Content-Type: application/json" \
    -H "Authorization: Bearer $("$node" -p 'JSON.parse(fs.readFileSync(process.argv[1])).api_key' "$2")" \
    -d '{"model": "embedded-chat", "messages": [{"role": "user", "content": "Hello!"}]}' -o "$work/answer.json"; do
    kill -0 "$server" || { echo "the demo ended before it answered" >&2; exit 1; }
    sleep 0.02
  done
  grep -q '"finish_reason":"stop"' "$work/answer.json"
}

stop() {
  kill -TERM "$server"
  wait "$server" || { echo "the gateway did not end with code 0" >&2; exit 1; }
  server=
}

if [ -z "$root" ]; then root=$work/debian; fi
if [ ! -e "$root/etc/debian_version" ]; then
  begun=$(now)
  debootstrap --variant=minbase --include=libatomic1,libstdc++6 "$suite" "$root" "$mirror" >"$work/debootstrap.log"
  echo "empty Debian ($suite): $(seconds "$begun" "$(now)") s, not counted"
fi

rm -rf "$root/opt/gateway"
mkdir -p "$root/opt/gateway"
begun=$(now)
cp "$dist/model-gateway" "$root/opt/gateway/"
copied=$(now)
port=$(free_port)
chroot "$root" /usr/bin/env -i PATH=/usr/bin PORT="$port" METRICS_PORT=0 /bin/sh -c 'cd /opt/gateway && exec ./model-gateway demo' >"$work/demo.log" &
server=$!
first_answer "$port" "$root/opt/gateway/data/demo.json"
answered=$(now)
curl -sf "http://127.0.0.1:$port/dashboard" -o /dev/null
stop
rm -rf "$root/opt/gateway"
echo "executable: copied in $(seconds "$begun" "$copied") s, demo with its first answer in $(seconds "$copied" "$answered") s"

mkdir "$work/empty" "$work/home"
tarball=$(ls "$dist"/model-gateway-*.tgz)
npx=$(readlink -f "$(command -v npx)")
port=$(free_port)
begun=$(now)
# In a group of its own: npx does not pass signals on.
(cd "$work/empty" && exec setsid env -i HOME="$work/home" PATH="$(dirname "$(readlink -f "$node")"):/usr/bin:/bin" npm_config_cache="$work/home/cache" \
  PORT="$port" METRICS_PORT=0 "$node" "$npx" --yes --package "$tarball" -- model-gateway demo) >"$work/npx.log" &
server=$!
first_answer "$port" "$work/empty/data/demo.json"
echo "npx of the packed package, with an empty cache: demo with its first answer in $(seconds "$begun" "$(now)") s"
kill -TERM -- "-$server"
wait "$server" || true
server=
