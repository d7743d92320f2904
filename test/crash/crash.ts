/** Starts the gateway, loads it, and kills it, again and again, and proves in the end that the money is right. */
import { setTimeout as delay } from "node:timers/promises";
import { type ClientCall, startLoad } from "./load.ts";
import { setStage } from "./stage.ts";
import { lapseAll, reconcileFaults, type Verdict, verify } from "./verify.ts";

export interface CrashOptions {
  readonly kills: number;
  /** What ACCELERATORS is set to; all accelerators where it is not given. */
  readonly accelerators?: string;
  /** Whether the account has budgets, beside some of its keys. */
  readonly isBudgeted?: boolean;
  /** Told after each kill. */
  readonly onKill?: (kill: number, calls: readonly ClientCall[]) => void;
  /** Ends the run after the kill that is under way. */
  readonly signal?: AbortSignal;
}

export interface Crashed extends Verdict {
  readonly kills: number;
}

/** When the kill comes, after the load or the answers have begun. */
const earliestMs = 10;
const latestMs = 600;
const clients = 64;
/** No call has a number that its input could be estimated at. */
const firstNumber = 1000;

export async function crash({ kills, accelerators, isBudgeted, onKill, signal }: CrashOptions): Promise<Crashed> {
  const stage = await setStage(isBudgeted);
  const calls: ClientCall[] = [];
  const faults: string[] = [];
  let number = firstNumber;
  let killed = 0;
  try {
    while (killed < kills && !signal?.aborted) {
      const startedAt = Date.now();
      const started = await stage.start(accelerators).catch((error: unknown) => {
        // A Ctrl-C goes to the gateway, too.
        if (signal?.aborted) return undefined;
        throw error;
      });
      if (!started) break;
      const { gateway, rootUrl } = started;
      const load = startLoad({ rootUrl, apiKeys: stage.apiKeys, clients, nextNumber: () => number++ });
      // A gateway that is new takes its time for the first answers: every other kill comes when they have begun.
      if (killed % 2 === 1) await Promise.race([load.answers(1), load.ended]);
      await delay(earliestMs + Math.random() * (latestMs - earliestMs));
      const ended = await gateway.stop("SIGKILL");
      killed++;
      if (ended.signal !== "SIGKILL" && !signal?.aborted)
        faults.push(`kill ${killed}: the gateway had ended before:\n${gateway.stderr}`);
      await load.ended;
      calls.push(...load.calls);
      faults.push(...(await reconcileFaults(stage)));
      if (load.calls.some(({ status }) => status !== undefined)) faults.push(...overdue(stage.engine, startedAt));
      onKill?.(killed, calls);
    }
    faults.push(...(await lapseAll(stage)), ...(await reconcileFaults(stage)));
    const verdict = verify(stage, calls);
    return { kills: killed, ...verdict, faults: [...faults, ...verdict.faults] };
  } finally {
    await stage.close();
  }
}

/** Who starts looks first for what those before left behind: holds past their deadline are gone. */
function overdue(engine: Awaited<ReturnType<typeof setStage>>["engine"], startedAt: number): string[] {
  const row = engine
    .prepare<[number], { count: number }>("SELECT count(*) AS count FROM holds WHERE expires_at <= ?")
    .get(startedAt);
  return row?.count ? [`${row.count} holds outlived their deadline`] : [];
}
