/** The bench of accelerators compares what it says: each taken away from all, and each taken away where it is the only one. */
import { expect, test } from "vitest";
import { type Measured, table } from "../../bench/accelerators/table.ts";
import { columns, variants } from "../../bench/accelerators/variants.ts";
import { loads } from "../../bench/loads.ts";
import { acceleratorNames } from "../../src/config/shape.ts";

const measuredAs = (variant: string, cpus: readonly number[]): Measured[] =>
  cpus.map((cpu, process) => ({ variant, load: "chat-1k", process, cpu, memory: cpu / 2 }));

test("a ratio is that of the medians, off ÷ on, first and last", () => {
  const measured = [
    ...measuredAs("all on", [100, 102, 98, 400]),
    ...measuredAs("without leases", [151.5, 151.5, 10, 900]),
    ...measuredAs("all off", [300, 300, 300, 300]),
    ...measuredAs("leases alone", [200, 200, 200, 200]),
    ...measuredAs("http1-server alone", [240, 240, 240, 240]),
    ...measuredAs("known-heads alone", [200, 200, 200, 200]),
  ];
  const text = table({ measured, command: "c", processes: 4, notes: ["a note"], date: new Date(0) });
  expect(text).toContain("| leases, first | 1.50 |");
  expect(text).toContain("| leases, last | 1.50 |");
  // It is of no use without the server.
  expect(text).toContain("| known-heads, last | 1.20 |");
  expect(text).toContain("| grpc, first | – |");
  expect(text).toContain("| **all** | 2.97 |");
  expect(text).toContain("- a note");
});

test("every accelerator is taken away and left alone, on loads that the bench has", () => {
  const names = variants.map(({ name }) => name);
  for (const name of acceleratorNames) {
    expect(names).toContain(`without ${name}`);
    expect(names).toContain(`${name} alone`);
  }
  const known = loads.map(({ name }) => name);
  for (const { loads: chosen } of variants) expect(known).toEqual(expect.arrayContaining([...chosen]));
  expect(known).toEqual(expect.arrayContaining(Object.keys(columns)));
});
