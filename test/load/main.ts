/**
 * `npm run test:load`: callers at 200 requests a second while upstreams die, in minutes. Prints what was seen, and ends with 1
 * where a bound does not hold.
 */

import { helpFirst } from "../../tools/program-help.ts";
import { asOperated, type Figures, oneDies, oneFlaps, onlyOneIsDead } from "./scenes.ts";

helpFirst(import.meta.filename);

const perSecond = 200;
const tooLateMs = 1000;
const noBreaker = { failures: Number.MAX_SAFE_INTEGER, openMs: 1 };

const scenes: readonly (() => Promise<Figures>)[] = [
  () => oneDies({ perSecond, seconds: 20 }),
  () => oneFlaps({ perSecond, seconds: 60 }, 5),
  () => onlyOneIsDead({ perSecond, seconds: 10 }, asOperated),
  () => onlyOneIsDead({ perSecond, seconds: 10 }, noBreaker),
];

const seen: Figures[] = [];
for (const play of scenes) {
  const figures = await play();
  console.log(`${figures.scene}: ${figures.calls} calls`);
  seen.push(figures);
}

console.table(
  Object.fromEntries(
    seen.map(({ scene, received: [mortal, other], median, slowest, late, missed, ...counts }) => {
      const [medianMs, slowestMs, lateMs] = [median, slowest, late].map(Math.round);
      return [
        scene,
        {
          ...counts,
          "sent to it": mortal,
          "to the other": other,
          "median ms": medianMs,
          "slowest ms": slowestMs,
          "late ms": lateMs,
        },
      ];
    }),
  ),
);
const missed = seen.flatMap((figures) => figures.missed.map((words) => `${figures.scene}: ${words}`));
for (const words of missed) console.error(words);
const late = Math.max(...seen.map((figures) => figures.late));
if (late > tooLateMs)
  console.error(`the callers came up to ${Math.round(late)} ms late: this machine is too busy for it`);
process.exitCode = missed.length > 0 ? 1 : 0;
