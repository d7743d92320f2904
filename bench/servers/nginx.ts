/**
 * nginx, as the upstream of whole answers and as the proxy that others are compared with: one worker each, kept-alive
 * connections on both sides, no log, and unbuffered streams.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatAnswer, embeddingsAnswer } from "../payloads.ts";
import { otherCore, type Program, start, targetCore } from "../processes.ts";

const connections = 20_000;

/** startNginxUpstream answers POST with constants: from files, since nginx itself would refuse it with 405. */
export async function startNginxUpstream(folder: string, port: number): Promise<Program> {
  const root = join(folder, "answers");
  mkdirSync(join(root, "v1/chat"), { recursive: true });
  writeFileSync(join(root, "v1/chat/completions"), chatAnswer);
  writeFileSync(join(root, "v1/embeddings"), embeddingsAnswer);
  const server = `server {
      listen 127.0.0.1:${port} backlog=16384;
      root ${root};
      default_type application/json;
      etag off;
      open_file_cache max=10 inactive=1h;
      open_file_cache_valid 1h;
      error_page 405 =200 $uri;
    }`;
  return startNginx(join(folder, "nginx-upstream"), server, port, otherCore);
}

/** startNginxProxy proxies each port to its upstream's. */
export async function startNginxProxy(
  folder: string,
  ports: readonly (readonly [port: number, upstream: number])[],
): Promise<Program> {
  const servers = ports.map(
    ([port, upstream]) => `
    upstream u${upstream} { server 127.0.0.1:${upstream}; keepalive 1100; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port} backlog=16384;
      location / {
        proxy_pass http://u${upstream};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_buffering off;
        proxy_buffer_size 32k;
        proxy_buffers 8 32k;
      }
    }`,
  );
  return startNginx(join(folder, "nginx-proxy"), servers.join(""), ports[0]?.[0] ?? 0, targetCore);
}

async function startNginx(folder: string, servers: string, port: number, core: number): Promise<Program> {
  mkdirSync(join(folder, "temporary"), { recursive: true });
  const file = join(folder, "nginx.conf");
  const bodies = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  writeFileSync(
    file,
    `daemon off;
  user root;
  pid ${folder}/pid;
  worker_processes 1;
  error_log stderr error;
  events { worker_connections ${connections}; }
  http {
    access_log off;
    tcp_nodelay on;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
    client_max_body_size 10m;
    client_body_buffer_size 1m;
    ${bodies.map((name) => `${name}_temp_path ${folder}/temporary;`).join(" ")}
    ${servers}
  }`.replace("  user root;\n", process.getuid?.() === 0 ? "  user root;\n" : ""),
  );
  const log = join(folder, "log");
  return start({ command: ["nginx", "-e", log, "-p", folder, "-c", file], core, port, log });
}
