/** Clients that are killed with their process: streams over HTTP/1.1 and HTTP/2 that are read. Tells when all have begun. */
import { setTimeout as delay } from "node:timers/promises";
import { data, headers, openH2, postFields } from "./h2.ts";
import { open, post } from "./raw.ts";
import { chat, chatPath } from "./row.ts";

const [port, key = "", count] = process.argv.slice(2) as [string, string, string];
const body = chat("quiet", "x", { stream: true });
let begun = 0;
await Promise.all(
  Array.from({ length: Number(count) }, async () => {
    const [one, two] = [await open(Number(port)), await openH2(Number(port))];
    one.once("data", () => begun++).write(post(chatPath, key, body));
    two.socket.write(Buffer.concat([headers(1, postFields(chatPath, key)), data(1, Buffer.from(body))]));
    for (let waits = 0; two.received.size === 0 && waits < 300; waits++) await delay(10);
    begun += two.received.size;
  }),
);
process.send?.(begun);
process.on("disconnect", () => process.exit());
