/** Heads within the limits that cost more to read than they are long. */
import { ask, inTurns, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Row, scaled } from "../row.ts";

type Headers = Readonly<Record<string, string>>;

interface Head {
  readonly path?: string;
  readonly headers: Headers;
}

const length = 14_000;
const many = (piece: string) => piece.repeat(Math.floor(length / piece.length));

/** Each is as long as a head may be. */
const traps: readonly Head[] = [
  { headers: { "x-forwarded-for": many("10.0.0.1, ") } },
  { headers: { cookie: many("a=b; ") } },
  { headers: { cookie: many(",;= ") } },
  { headers: Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x-${i}`, "y"])) },
  { headers: { "cache-control": many("no-cache, ") } },
  { headers: { "cache-control": many("max-age=1 ") } },
  { headers: { "x-gateway-timeout": many("total = 1 , ") } },
  { headers: { "x-gateway-timeout": `${many(" ")}1` } },
  { headers: { "content-type": `application/json;${many(" a=b;")}` } },
  { headers: { "content-type": `application/json${many(" ")};` } },
  { headers: { accept: many("text/html;q=0.1, ") } },
  { headers: { "accept-encoding": many("gzip;q=0.1, ") } },
  { headers: { traceparent: many("00-") } },
  { headers: { tracestate: many("a=b,") } },
  { headers: { "idempotency-key": many("k") } },
  { headers: { origin: `http://${many("a.")}` } },
  { headers: { "user-agent": many("(((((a") } },
  { headers: { "x-api-key": `${many(" ")}x`, authorization: `Bearer ${many(" ")}x` } },
  { headers: { forwarded: many('for="[::1]";proto=http, ') } },
  { headers: { "grpc-timeout": many("1") } },
  { path: `${chatPath}?${many("a=b&")}`, headers: {} },
  { path: `${chatPath}?${many("%41")}`, headers: {} },
  { path: `/v1/models/${many("a/")}`, headers: {} },
  { path: `/${many("/")}`, headers: {} },
  { path: `/v1/models/${many("%2e%2e%2f")}`, headers: {} },
];

export const heads: readonly Row[] = [
  {
    ...{ name: "long-heads", item: 3 },
    attack: `${traps.length} kinds of heads of 14 kB: lists, blanks, escapes, a thousand fields; 1,500 requests`,
    holds: "reading is linear and bounded; no 500",
    async run(stage) {
      const { port, keys } = stage.gateway;
      const body = chat("sink", "x");
      const statuses: number[] = [];
      const failed = new Set<string>();
      await inTurns(scaled(stage, 1_500), 16, stage.signal, async (i) => {
        const { path = chatPath, headers } = traps[i % traps.length] as Head;
        const { status } = await ask(port, { path, key: keys.rich, body, headers });
        statuses.push(status);
        if (status === 0 || status === 500)
          failed.add(`${status} for ${path.slice(0, 30)} ${JSON.stringify(headers).slice(0, 40)}`);
      });
      return { told: tally(statuses), faults: faultsOf({ [`failed: ${[...failed].join("; ")}`]: failed.size > 0 }) };
    },
  },
];
