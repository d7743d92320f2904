/** Upstreams that misbehave: answers that cost more than they are long, never end, or end in doubt. */
import { framingKinds } from "../behaviours.ts";
import { ask, inTurns, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Row, type Stage, scaled } from "../row.ts";

async function outlines(stage: Stage): Promise<number[]> {
  const { port, keys } = stage.gateway;
  const statuses: number[] = [];
  for (const megabytes of stage.share < 1 ? [0.05] : [0.25, 4, 16]) {
    if (stage.signal.aborted) break;
    const body = JSON.stringify({ model: "outline", input: String(megabytes) });
    statuses.push((await ask(port, { path: "/v1/embeddings", key: keys.rich, body, timeoutMs: 8_000 })).status);
  }
  return statuses;
}

const outline: Row = {
  ...{ name: "upstream-repeated-member", item: 3 },
  attack: 'an embeddings answer that is `"embedding":[` over and over, to 16 MB',
  holds: "every scanner is linear",
  run: async (stage) => ({ told: tally(await outlines(stage)), faults: [] }),
};

/** Calls a model whose upstream misbehaves, several at once, each for a time at most. */
const misbehaving = (model: string, attack: string, holds: string, count: number, growth = 512): Row => ({
  ...{
    name: `upstream-${model.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    item: 3,
    attack,
    holds,
    growth,
  },
  async run(stage) {
    const { port, keys } = stage.gateway;
    const statuses: number[] = [];
    await inTurns(scaled(stage, count), count, stage.signal, async () => {
      const body = chat(model, "x", { stream: true });
      statuses.push((await ask(port, { path: chatPath, key: keys.rich, body, timeoutMs: stage.ms })).status);
    });
    return { told: tally(statuses), faults: faultsOf({ "a 500": statuses.includes(500) }) };
  },
});

const bounded = "is refused at the bound of heads; its connection is not kept";

const framing: Row = {
  ...{ name: "upstream-framing", item: 4, warm: 0 },
  attack: `2,000 calls at an upstream whose answers end in doubt in ${framingKinds.length} ways, every other one`,
  holds: "a connection is kept only where its answer ended beyond doubt: each caller gets its own",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const seen = { own: 0, failed: 0 };
    const wrong = new Map<string, number>();
    const perKind = Math.ceil(2_000 / framingKinds.length);
    for (const kind of framingKinds) {
      await inTurns(perKind, 12, stage.signal, async (i) => {
        const isBad = i % 2 === 0;
        const word = `own-${kind}-${i}-`;
        const reply = await ask(port, {
          path: chatPath,
          key: keys.rich,
          body: chat("framing", isBad ? `bad ${kind}` : word),
        });
        if (reply.body.includes("another's") || (!isBad && reply.status === 200 && !reply.body.includes(word))) {
          wrong.set(kind, (wrong.get(kind) ?? 0) + 1);
        } else if (!isBad) reply.status === 200 ? seen.own++ : seen.failed++;
      });
    }
    const told = `${seen.own} own answers, ${seen.failed} failed`;
    const list = [...wrong].map(([kind, count]) => `${kind} ×${count}`).join(", ");
    return { told, faults: faultsOf({ [`another's answer: ${list}`]: wrong.size > 0 }) };
  },
};

export const upstreams: readonly Row[] = [
  outline,
  misbehaving("endlessHead", "answers whose head never ends", bounded, 10),
  misbehaving("endlessInterim", "interim answers (103) without an end", bounded, 10),
  misbehaving("bigFrames", "streams of frames of 16 MB", "memory is bounded; others are served", 4, 1_000),
  misbehaving("endlessLine", "a stream whose frame never ends", "it is cut at the bound of frames", 4),
  {
    ...misbehaving(
      "untold",
      "10 streams of 4 MB of text that tell no usage",
      "their tokens are counted aside; others are served",
      10,
    ),
    warm: 0.5,
  },
  misbehaving("bytewise", "30 streams whose every byte is a chunk", "others are served", 30),
  misbehaving("comments", "20 streams of nothing but comments", "others are served", 20),
  framing,
];
