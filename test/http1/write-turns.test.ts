/** Many long bodies that are whole at once are written over several turns of the event loop; short ones wait for none. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createConnectionPool } from "../../src/http1/client/index.ts";
import { ask, timeouts } from "./conformance/client-engines.ts";

test("at most two bodies of 4 MB are written in a turn, on new connections and on kept ones", async () => {
  let arrived = 0;
  const server = createServer(async (request, response) => {
    for await (const bytes of request) arrived += (bytes as Buffer).length;
    response.end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createConnectionPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeouts);
  onTestFinished(() => void server.close());
  onTestFinished(() => client.close());
  const long = Buffer.alloc(4_000_000);
  const count = 10;
  for (const connections of ["new", "kept"]) {
    let [turn, inTurn, most, longSent, before] = [0, 0, 0, 0, 0];
    let isOver = false;
    const next = () => {
      turn++;
      inTurn = 0;
      if (!isOver) setImmediate(next);
    };
    setImmediate(next);
    const asked = Array.from({ length: count }, () =>
      ask(
        client,
        () => {
          longSent++;
          most = Math.max(most, ++inTurn);
        },
        { body: long },
      ),
    );
    const noteBefore = () => {
      before = longSent;
    };
    asked.push(ask(client, noteBefore));
    const ends = (await Promise.all(asked)).map(({ end, status }) => [end, status]);
    isOver = true;
    expect(ends, connections).toEqual(Array(count + 1).fill(["ended", 200]));
    expect(most, connections).toBeLessThanOrEqual(2);
    expect(turn, connections).toBeGreaterThan(count / 2);
    expect(before, "the short one did not wait for all").toBeLessThan(count);
  }
  expect(arrived).toBe(2 * (count * long.length + 2));
});
