/** A server for commands that ask one: a gateway that is ready, and an upstream with one model, `small`, which answers at once. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedServer {
  /** Its address on this machine, `http://…`. */
  readonly address: string;
  close(): void;
}

const list = { object: "list", data: [{ id: "small", object: "model" }] };
const answer = {
  choices: [{ index: 0, message: { role: "assistant", content: "OK" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

export async function startAskedServer(): Promise<AskedServer> {
  const server = createServer((request, response) => {
    const body = request.method === "POST" ? answer : list;
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { address: `http://127.0.0.1:${port}`, close };
}
