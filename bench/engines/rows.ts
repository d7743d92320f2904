/** The rows of the engines' table: what it costs to share the ledger, and to serve by several processes. */
import type { Name } from "../results.ts";
import type { Row } from "../rows.ts";

const [one, postgres, workers] = ["gateway", "gateway-postgres", "gateway-workers"];
const perRequest = "CPU µs/request";
const busiest = "busiest process µs/request";
/** processes is how many serve in `gateway-workers`. */
const processes = 2;

export const engineRows: readonly Row[] = [
  cost("Postgres and Redis, 256 connections: CPU per request", "256", postgres, [1.15, 1.05]),
  cost("same, an upstream that takes 50 ms, 1,000 connections", "50-ms", postgres, [1.15, 1.05]),
  cost("same, 32 connections", "32", postgres, [1.5, 1.2]),
  {
    ...{ work: "rate decisions a round trip to Redis, 256 connections", against: "–" },
    ...({ must: 20, aim: 200, unit: "", better: "more" } as const),
    values: itself(["256", postgres, "decisions a round trip"]),
  },
  wait("Postgres and Redis, 500 requests/s: added p50", "500-a-second"),
  calls("same, calls a statement", "500-a-second"),
  wait("Postgres and Redis, 1,000 requests/s: added p50", "1000-a-second"),
  calls("same, calls a statement", "1000-a-second"),
  calls("Postgres and Redis, 256 connections: calls a statement", "256"),
  cost("two workers, 256 connections: CPU per request", "256", workers, [1.12, 1.05]),
  cost("same, 32 connections", "32", workers, [1.12, 1.05]),
  {
    ...{ work: "two workers on two cores, by CPU: requests/s", against: "one process" },
    ...({ must: 1.7, aim: 1.9, unit: "×", better: "more" } as const),
    values: ({ together }) =>
      together(
        [
          ["256", one, perRequest],
          ["256", workers, perRequest],
          ["256", workers, busiest],
        ],
        // Neither can all of them take more than their cores, nor the busiest more than one.
        (alone = 0, all = 0, most = 0) => Math.min((processes * alone) / all, alone / most),
      ),
  },
];

function cost(work: string, load: string, target: string, [must, aim]: readonly [number, number]): Row {
  return {
    ...({ work, against: "SQLite, one process", must, aim, unit: "×", better: "less" } as const),
    values: ({ together }) =>
      together(
        [
          [load, target, perRequest],
          [load, one, perRequest],
        ],
        (own = 0, other = 0) => own / other,
      ),
  };
}

function wait(work: string, load: string): Row {
  return {
    ...({ work, against: "SQLite, one process", must: 3, aim: 2, unit: "ms", better: "less" } as const),
    values: ({ together }) =>
      together(
        [
          [load, postgres, "p50 ms"],
          [load, one, "p50 ms"],
        ],
        (own = 0, other = 0) => own - other,
      ),
  };
}

function calls(work: string, load: string): Row {
  return {
    ...({ work, against: "–", must: undefined, aim: undefined, unit: "", better: "more" } as const),
    values: itself([load, postgres, "calls a statement"]),
  };
}

function itself(name: Name): Row["values"] {
  return ({ together }) => together([name], (value = 0) => value);
}
