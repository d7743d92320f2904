/**
 * A port on which a connection is never made: its listener's thread stands still, and others have taken every place in line.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";

export interface StuffedListener {
  /** To be given as `base_url`. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

const listening = `
  const { parentPort } = require("node:worker_threads");
  const server = require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

/** fitting is how many connections fit into a line of one, and pressing how many more press to get in. */
const [fitting, pressing] = [2, 8];

export async function startStuffedListener(): Promise<StuffedListener> {
  const worker = new Worker(listening, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  const sockets: Socket[] = [];
  for (let i = 0; i < fitting + pressing; i++) sockets.push(connect(port, "127.0.0.1").on("error", () => {}));
  await Promise.all(sockets.slice(0, fitting).map((socket) => once(socket, "connect")));
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await worker.terminate();
    },
  };
}
