/** Reads how many bytes the system's peers have not acknowledged, read from Linux's tables of connections. */
import { createReadStream } from "node:fs";
import type { Socket } from "node:net";

/**
 * UnacknowledgedBytes is keyed by the local and remote port of a connection (`portsOf`). Connections without such bytes are
 * absent.
 */
export type UnacknowledgedBytes = ReadonlyMap<string, number>;

/** portsOf returns the key of a connection. Two peers with the same port at different addresses share one. */
export function portsOf({ localPort, remotePort }: Socket): string {
  return `${localPort} ${remotePort}`;
}

/** Linux: proc(5), `/proc/net/tcp`. */
const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
const row = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/;

/**
 * unacknowledgedBytes reads the tables in pieces, because they may list thousands of connections. Other systems have none: there the map is
 * empty.
 */
export async function unacknowledgedBytes(): Promise<UnacknowledgedBytes> {
  const found = new Map<string, number>();
  const read = (line: string) => {
    const [, local = "", remote = "", queued = ""] = row.exec(line) ?? [];
    const bytes = Number.parseInt(queued, 16);
    if (!(bytes > 0)) return;
    const ports = `${Number.parseInt(local, 16)} ${Number.parseInt(remote, 16)}`;
    found.set(ports, (found.get(ports) ?? 0) + bytes);
  };
  for (const path of tables) {
    let rest = "";
    try {
      for await (const piece of createReadStream(path, { encoding: "latin1" })) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) read(line);
      }
    } catch {
      // There is no such table.
    }
  }
  return found;
}
