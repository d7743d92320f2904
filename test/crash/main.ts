/**
 * `npm run test:crash [-- KILLS]`: kills the gateway under load, 200 times unless said otherwise, and proves that what
 * was answered is charged, once, and nothing else. Ends with 1 where it is not so. Ctrl-C ends it earlier, with the
 * proof of what was done.
 */

import { helpFirst } from "../../tools/program-help.ts";
import { crash } from "./crash.ts";

helpFirst(import.meta.filename);

const stopped = new AbortController();
for (const asked of ["SIGINT", "SIGTERM"]) process.on(asked, () => stopped.abort());
const everyKills = 20;
const begun = performance.now();
const seconds = () => `${((performance.now() - begun) / 1000).toFixed(0)} s`;

const verdict = await crash({
  kills: Number(process.argv[2] ?? 200),
  ...(process.env.ACCELERATORS === undefined ? {} : { accelerators: process.env.ACCELERATORS }),
  signal: stopped.signal,
  onKill(kill, calls) {
    if (kill % everyKills !== 0) return;
    const whole = calls.filter(({ end }) => end === "whole").length;
    console.log(`${kill} kills, ${calls.length} calls, ${whole} answered in full, ${seconds()}`);
  },
});

const { kills, faults, calls, answers, left, leftCharged, undelivered, lost, dueBatches } = verdict;
console.log(`${kills} kills in ${seconds()}: ${calls} calls
  ${answers} answered in full, each charged once
  ${left} left by their client, ${leftCharged} of them charged
  ${undelivered} settled, and caught on their way to the client
  ${lost} lost with the gateway, and not charged
  ${dueBatches} times sums of keys were left to be merged later
  ${faults.length} faults`);
for (const fault of faults.slice(0, 50)) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
