/**
 * The simulation of a fleet gives what was measured of Postgres and Redis where that is known, its short cuts give what calls one by one
 * give, and docs/scaling.md and docs/internet-scale.md say what it tells.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { groupsOf, sumOver } from "../../bench/fleet-simulation/accounts.ts";
import { breakOf, holds, neededBy, usesOf } from "../../bench/fleet-simulation/bounds.ts";
import { costSets } from "../../bench/fleet-simulation/costs.ts";
import { createDatabase } from "../../bench/fleet-simulation/database.ts";
import { createCalendar } from "../../bench/fleet-simulation/events.ts";
import { simulateFleet } from "../../bench/fleet-simulation/fleet.ts";
import { flowsOf, oncePer } from "../../bench/fleet-simulation/flows.ts";
import { startLane } from "../../bench/fleet-simulation/lane.ts";
import { planOf, steps } from "../../bench/fleet-simulation/plan.ts";
import { createRandom } from "../../bench/fleet-simulation/random.ts";
import { runDry } from "../../bench/fleet-simulation/running-dry.ts";
import { cases, type Scenario } from "../../bench/fleet-simulation/scenario.ts";
import { createWaits } from "../../bench/fleet-simulation/waits.ts";
import { percentile } from "../../bench/statistics.ts";
import { root, run, temporaryFolder } from "../support/command.ts";
import { tableWith } from "../support/pages.ts";

const small = cases.small as Scenario;
const { write } = costSets.spike;
const [flushUs, roundTripUs] = [300, 450];

/** Charges that come to one lane over one connection. Returns what a transaction has, takes and waits for. */
function chargesAt(perSecond: number, seconds: number) {
  const calendar = createCalendar();
  const database = createDatabase({ calendar, cores: 2, taken: 0, flushUs, logBytes: 500e6 });
  const waits = createWaits();
  const sent = { calls: 0, cpu: 0, roundTrips: [] as number[] };
  startLane({
    ...{ calendar, random: createRandom(3), rates: [perSecond], gatherUs: 0, waits: [waits] },
    run([calls = 0], done) {
      const [cpu, begun] = [write.batch + calls * write.charge, calendar.now()];
      sent.calls += calls;
      sent.cpu += cpu;
      const ended = () => {
        sent.roundTrips.push(calendar.now() - begun);
        done();
      };
      calendar.after(roundTripUs / 2, () =>
        database.run({ cpu, bytes: 0, isHot: false, done: () => calendar.after(roundTripUs / 2, ended) }),
      );
    },
  });
  calendar.runUntil(seconds * 1e6);
  return { ...sent, waits };
}

describe("what was measured", () => {
  test("batches of a hundred charges take 12 µs of the server a call, and 1.5 to 2.5 ms there and back", () => {
    const { calls, cpu, roundTrips } = chargesAt(48_000, 5);
    const batch = calls / roundTrips.length;
    expect(batch).toBeGreaterThan(80);
    expect(batch).toBeLessThan(125);
    expect(cpu / calls - write.batch / batch).toBeCloseTo(12, 2);
    expect(percentile(roundTrips, 0.5)).toBeGreaterThan(1_500);
    expect(percentile(roundTrips, 0.5)).toBeLessThan(2_500);
  });

  test("one account whose credit is scarce has 20,000 decisions a second", () => {
    const alone = { scarce: 1, hotScarce: 1, accounts: 1, keys: 1, changes: 0, callCpu: 0, redisShards: 1_000 };
    const { callsPerSecond, what } = breakOf({ ...small, ...alone, callsPerSecond: 1_000, costs: "spike" });
    // A call is decided twice: its hold, and its capture.
    expect(2 * callsPerSecond).toBeGreaterThan(18_000);
    expect(2 * callsPerSecond).toBeLessThan(22_000);
    expect(what).toBe("Postgres: the row of one account");
  });

  test("an ask of Redis decides 205 calls of a bucket of which a node gets 4,100 a second", () => {
    const one = { ...small, nodes: 1, accounts: 1, keys: 1, callsPerSecond: 4_100 };
    expect(one.callsPerSecond / flowsOf(one).redisAsks).toBeCloseTo(205, 0);
  });
});

describe("short cuts give what calls one by one give:", () => {
  test("a lane", () => {
    const { waits, calls, roundTrips } = chargesAt(20_000, 5);
    const random = createRandom(9);
    const exact: number[] = [];
    let [came, free, batches] = [random.exponential(50), 0, 0];
    while (came < 5e6) {
      const begun = Math.max(came, free);
      const batch: number[] = [];
      for (; came <= begun; came += random.exponential(50)) batch.push(came);
      free = begun + roundTripUs + write.batch + batch.length * write.charge + flushUs;
      for (const one of batch) exact.push(free - one);
      batches++;
    }
    expect(calls / roundTrips.length / (exact.length / batches)).toBeCloseTo(1, 1);
    for (const part of [0.5, 0.99]) expect(waits.percentile(part) / percentile(exact, part)).toBeCloseTo(1, 1);
  });

  test.each([0.02, 0.2, 0.6])("a lease that gets %d calls a second", (rate) => {
    const random = createRandom(5);
    const [look, looks] = [5, 200_000];
    let [opened, isThere, came] = [0, false, random.exponential(1 / rate)];
    for (let i = 1; i <= looks; i++) {
      let wasUsed = false;
      for (; came < i * look; came += random.exponential(1 / rate)) {
        if (!isThere) opened++;
        isThere = true;
        wasUsed = true;
      }
      isThere = wasUsed;
    }
    const one = { ...small, nodes: 1, accounts: 1, keys: 1, scarce: 0, callsPerSecond: rate };
    const flows = flowsOf(one);
    expect(opened / looks / look / flows.opened).toBeCloseTo(1, 1);
  });

  test("what happens once in a span", () => {
    expect(oncePer(1e-12, 1)).toBe(1);
    expect(oncePer(1000, 1)).toBeCloseTo(0.001, 9);
  });

  test.each(["zipf", "uniform"] as const)("accounts in groups, %s", (spread) => {
    const groups = groupsOf({ spread, accounts: 100_000 });
    expect(sumOver(groups, (part) => part)).toBeCloseTo(1, 9);
    expect(groups.reduce((sum, { accounts }) => sum + accounts, 0)).toBe(100_000);
    const harmonic = spread === "zipf" ? Math.log(100_000) + 0.57722 : 100_000;
    expect((groups[0]?.part ?? 0) * harmonic).toBeCloseTo(1, 3);
  });
});

describe("an account that runs dry over a hundred nodes", () => {
  const account = { nodes: 100, callsPerSecond: 100, callSeconds: 2, hold: 20_000, cost: 5_000 };
  const options = { ...account, balance: 100_000_000, leaseIdleMs: 5_000, seed: 1 };

  test("has calls refused that could be paid where leases are not called back", () => {
    const { refusedWrongly, mostIdle } = runDry({ ...options, recalls: false });
    expect(refusedWrongly).toBeGreaterThan(1_000);
    expect(mostIdle).toBeGreaterThan(0.5);
  });

  test("is charged for as many calls as it can pay where they are", () => {
    const { refusedWrongly, charged, recalls } = runDry({ ...options, recalls: true });
    expect(refusedWrongly).toBe(0);
    expect(recalls).toBeGreaterThan(0);
    const payable = options.balance / options.cost;
    expect(charged).toBeLessThanOrEqual(payable);
    expect(charged).toBeGreaterThan(payable - options.hold / options.cost);
  });
});

describe("a fleet", () => {
  const told = (scenario: Scenario) => {
    const { begin, end, batches, cores } = simulateFleet(scenario);
    return { batches, cores, waits: [begin, end].map((one) => one.percentile(0.99)) };
  };

  test("is the same for the same seed, and about the same for another", () => {
    expect(told(small)).toEqual(told(small));
    const [one, other] = [told(small), told({ ...small, seed: 2 })];
    expect(other).not.toEqual(one);
    expect(other.batches.write / one.batches.write).toBeCloseTo(1, 1);
  });

  test("never answers more calls than come, nor fewer where it holds", () => {
    const { end, flows } = simulateFleet(small);
    const answered = end.count() / small.seconds;
    expect(answered / (flows.leased + flows.scarce - flows.hot)).toBeCloseTo(1, 1);
  });

  test("of internet scale holds with all that the plan has", () => {
    const planned = { ...cases.internet, ...Object.assign({}, ...steps.map(({ change }) => change)) } as Scenario;
    const { nodes, postgres, redis } = neededBy(planned);
    expect(postgres).toBeDefined();
    const built = { ...planned, nodes, shards: postgres ?? 0, redisShards: redis };
    // Both were fitted to each other a few times, by short runs: a fifth more servers have room.
    const roomy = { ...built, shards: Math.ceil(built.shards * 1.2) };
    const servers = usesOf(roomy, simulateFleet(roomy)).filter(({ name }) => name !== "a node's core");
    expect(servers.filter((use) => !holds([use]))).toEqual([]);
    const without = { ...(cases.internet as Scenario), shards: built.shards, redisShards: redis };
    expect(holds(usesOf(without, simulateFleet(without)))).toBe(false);
  });
});

describe("npm run simulate:fleet", () => {
  const simulate = (...args: readonly string[]) =>
    run(process.execPath, [join(root, "bench/fleet-simulation/main.ts"), ...args], { PATH: process.env.PATH });

  test("explains its options, and what is wrong with one", async () => {
    const { stdout } = await simulate("--help");
    expect(stdout).toContain("--calls-per-second");
    for (const [args, words] of [
      [["--case", "huge"], 'there is no "huge"; there are small, medium, internet'],
      [["--nodes", "0"], "--nodes: expected a whole number from 1 to 10000"],
      [["--nodes", "2.5"], "--nodes: expected a whole number from 1 to 10000"],
      [["--scarce", "2"], "--scarce: expected a number from 0 to 1"],
      [["--spread", "even"], "--spread: expected zipf or uniform"],
    ] as const) {
      const { code, stderr } = await simulate(...args);
      expect(code).toBe(1);
      expect(stderr).toContain(words);
      expect(stderr).not.toContain("    at ");
    }
  });

  test("tells of a case, as text and as JSON", async () => {
    const folder = await temporaryFolder();
    const json = join(folder.path, "fleet.json");
    const { code, stdout, stderr } = await simulate("--case", "small", "--seconds", "0.5", "--json", json);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("## small: 3 nodes, 3,000 calls/s, 10,000 keys of 1,000 accounts");
    expect(stdout).toMatch(/\| what it bears as it is \| [\d,]+ calls\/s; then: .+ \|/);
    const { told } = JSON.parse(await readFile(json, "utf8"));
    expect(told[0]).toMatchObject({ name: "small", scenario: { nodes: 3 }, needed: { postgres: 1, redis: 1 } });
    expect(told[0].waits.end.p99_us).toBeGreaterThan(told[0].waits.end.p50_us);
    await folder.remove();
  });
});

describe("the pages", () => {
  const numbers = (text: string) =>
    [...text.matchAll(/\d[\d,]*(?:\.\d+)?/g)].map(([n]) => Number(n.replaceAll(",", "")));

  test("have what the cases bear", () => {
    const rows = tableWith("docs/scaling.md", "fleet", "waits for money, p99", "it bears", "then breaks");
    expect(rows).toHaveLength(2);
    for (const [i, [, waits = "", bears = "", breaks = ""]] of rows.entries()) {
      const scenario = Object.values(cases)[i] as Scenario;
      const { end } = simulateFleet(scenario);
      const { callsPerSecond, what } = breakOf(scenario);
      expect((numbers(waits)[0] ?? 0) / (end.percentile(0.99) / 1000)).toBeCloseTo(1, 0);
      expect(Math.abs((numbers(bears)[0] ?? 0) / callsPerSecond - 1)).toBeLessThan(0.25);
      expect(breaks).toBe(what);
    }
  });

  test("have the plan", () => {
    const rows = tableWith("docs/internet-scale.md", "with this, too", "calls/s over one Postgres");
    const plan = planOf(cases.internet as Scenario);
    expect(rows.map(([what]) => what)).toEqual(plan.map(({ what }) => what));
    for (const [i, { overOne, postgres, redis, nodes }] of plan.entries()) {
      const [, calls = "", breaks, gateways = "", servers = "", buckets = ""] = rows[i] ?? [];
      expect(breaks).toBe(overOne.what);
      expect(Math.abs((numbers(calls)[0] ?? 0) / overOne.callsPerSecond - 1)).toBeLessThan(0.25);
      expect(Math.abs((numbers(servers)[0] ?? 0) - (postgres ?? 0))).toBeLessThanOrEqual(1);
      expect(Math.abs((numbers(gateways)[0] ?? 0) / nodes - 1)).toBeLessThan(0.25);
      expect(numbers(buckets)[0]).toBe(redis);
    }
  });
});
