/**
 * The rows of the table: required and target bounds, or mere information. Each compares a figure with another of the
 * same rounds.
 */
import type { Name, Results } from "./results.ts";

export interface Row {
  readonly work: string;
  readonly against: string;
  /** must is undefined if there is no bound. */
  readonly must: number | undefined;
  readonly aim: number | undefined;
  /** unit is how a value is written. */
  readonly unit: "×" | "%" | "ms" | "kB" | "MB" | "";
  readonly better: "more" | "less";
  /** values returns a value for each round. */
  readonly values: (results: Results) => readonly number[];
}

const requests = "requests/s";
const perRequest = "CPU µs/request";
const perChunk = "CPU µs/chunk";

export const rows: readonly Row[] = [
  {
    ...ratio("chat 1 kB, priced, durable, all on: requests/s", "bare", [0.75, 0.9], "more"),
    values: of(["chat-1k", "gateway", requests], ["chat-1k", "bare", requests]),
  },
  {
    ...ratio("same, CPU per request", "nginx", [2.6, 2.2]),
    values: of(["chat-1k", "gateway", perRequest], ["chat-1k", "nginx", perRequest]),
  },
  {
    ...ratio("same, requests/s", "Portkey", [6.5, 8], "more"),
    values: of(["chat-1k", "gateway", requests], ["chat-1k", "portkey", requests]),
  },
  {
    ...{ work: "same, share of its CPU that money takes", against: "itself, models at price 0" },
    ...({ must: 12, aim: 6, unit: "%", better: "less" } as const),
    values: ({ together }) =>
      together(
        [
          ["money", "gateway", perRequest],
          ["money", "gateway-free", perRequest],
        ],
        (paid = 0, free = 0) => 100 * (1 - free / paid),
      ),
  },
  {
    ...ratio("one connection, added p50", "nginx", [1.7, 1.45]),
    values: added(["one-connection", "gateway", "p50 ms"], ["one-connection", "nginx", "p50 ms"]),
  },
  {
    ...ratio("chat 200 kB, CPU per request", "bare", [1.5, 1.2]),
    values: of(["chat-200k", "gateway", perRequest], ["chat-200k", "bare", perRequest]),
  },
  {
    ...ratio("embeddings of 1,536 floats, CPU per request", "bare", [1.5, 1.2]),
    values: of(["embeddings", "gateway", perRequest], ["embeddings", "bare", perRequest]),
  },
  {
    ...ratio("stream, same family, CPU per chunk, usage counted", "nginx", [2.2, 1.8]),
    values: of(["paced-100", "gateway", perChunk], ["paced-100", "nginx", perChunk]),
  },
  {
    ...{ work: "stream, p99 chunk delay at 5,000 chunks/s", against: "direct" },
    ...({ must: 0.5, aim: 0.2, unit: "ms", better: "less" } as const),
    // Subtracts the median of the upstream's windows, which are read before these: a pause of the host during one of
    // them is nobody's gain.
    values({ of, together }) {
      const direct = of(["steady-100", "direct", "p99 ms"]);
      if (Number.isNaN(direct)) return [];
      return together([["steady-100", "gateway", "p99 ms"]], (own = 0) => own - direct);
    },
  },
  {
    ...ratio("stream translated chat → messages, CPU per chunk", "bare, on chat", [1.8, 1.4]),
    values: of(["messages-paced", "gateway", perChunk], ["messages-paced", "bare", perChunk]),
  },
  {
    ...ratio("gRPC unary, CPU per request", "connect-node echo", [1.6, 1.3]),
    values: of(["grpc-unary", "gateway", perRequest], ["grpc-unary", "connect-echo", perRequest]),
  },
  {
    ...{ work: "10,000 open paced streams, memory per stream over idle", against: "–" },
    ...({ must: 40, aim: 20, unit: "kB", better: "less" } as const),
    values: ({ together }) => together([["streams-10k", "gateway", "kB/stream"]], (kilobytes = 0) => kilobytes),
  },
  {
    ...megabytes("memory before the first call, idle", 140, 120),
    values: itself(["memory", "gateway", "idle MB"]),
  },
  {
    ...megabytes("memory after all loads of this table, once nobody calls", 350, 250),
    values: itself(["memory", "gateway", "after all loads MB"]),
  },
  {
    ...megabytes("`memory: small`: memory under chat 1 kB", 300, 250),
    values: itself(["memory-small", "gateway-small", "memory MB"]),
  },
  {
    ...ratio("same, CPU per request", "itself, the usual setting", [undefined, undefined]),
    values: of(["memory-small", "gateway-small", perRequest], ["memory-small", "gateway", perRequest]),
  },
  {
    ...ratio("1 → 1,000,000 keys (32 clients, a key each), CPU per request", "itself", [1.1, 1.03]),
    values: of(["keys-1m", "gateway-1m-keys-each", perRequest], ["keys-1m", "gateway", perRequest]),
  },
  {
    ...ratio("same, 10,000 keys of ten accounts in turn, by connections that all share", "itself, one key", [
      undefined,
      undefined,
    ]),
    values: of(["keys-1m", "gateway-1m-keys-in-turn", perRequest], ["keys-1m", "gateway", perRequest]),
  },
];

/** memoryRows are those that `--memory` measures. */
export const memoryRows = rows.filter(
  ({ unit, against }) => unit === "MB" || unit === "kB" || against === "itself, the usual setting",
);

export type Verdict = "aim reached" | "reached" | "SHORT" | "not measured" | "–";

/** verdictOf compares a value with its bounds. */
export function verdictOf({ must, aim, better }: Row, value: number): Verdict {
  if (Number.isNaN(value)) return "not measured";
  if (must === undefined || aim === undefined) return "–";
  const isWithin = (bound: number) => (better === "more" ? value >= bound : value <= bound);
  return isWithin(aim) ? "aim reached" : isWithin(must) ? "reached" : "SHORT";
}

type Bounds = readonly [must: Row["must"], aim: Row["aim"]];

function ratio(work: string, against: string, [must, aim]: Bounds, better: Row["better"] = "less") {
  return { work, against, must, aim, unit: "×", better } as const;
}

function megabytes(work: string, must: number, aim: number) {
  return { work, against: "–", must, aim, unit: "MB", better: "less" } as const;
}

/** itself returns a figure as it is. */
function itself(name: Name): Row["values"] {
  return ({ together }) => together([name], (value = 0) => value);
}

function of(own: Name, other: Name): Row["values"] {
  return ({ together }) => together([own, other], (a = 0, b = 0) => a / b);
}

/** added returns what each adds to a direct call of the upstream. */
function added(own: Name, other: Name): Row["values"] {
  const direct: Name = [own[0], "direct", own[2]];
  return ({ together }) => together([own, other, direct], (a = 0, b = 0, c = 0) => (a - c) / (b - c));
}
