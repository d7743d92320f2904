/** Starts upstreams in processes of their own, and asks them what they were sent. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { endChild } from "./canary.ts";

/** What an upstream was sent since its start. */
export interface Seen {
  /** How many requests, by model. */
  readonly requests: Readonly<Record<string, number>>;
  /** The largest body since the last `forget`, in bytes. */
  readonly largest: number;
  /** Connections that are open now. */
  readonly open: number;
}

export interface Upstream {
  readonly port: number;
  seen(): Promise<Seen>;
  /** Begins to look for the largest body anew. */
  forget(): void;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<Upstream> {
  const child = fork(join(import.meta.dirname, "upstream-process.ts"));
  const [port] = (await once(child, "message")) as [number];
  return {
    port,
    async seen() {
      const told = once(child, "message");
      child.send("seen");
      const [seen] = await told;
      return seen as Seen;
    },
    forget: () => void child.send("forget"),
    close: () => endChild(child),
  };
}
