/** A gateway that is asked to stop says so, and takes calls for `stop_delay_seconds` more: no call is refused before balancers know. */
import { Agent, request } from "node:http";
import { expect, test } from "vitest";
import { startTestGateway } from "../support/gateway.ts";

/** Asks over a connection that is kept, and resolves with the status and what the answer says of the connection. */
function ask(
  agent: Agent,
  port: number,
  path: string,
  key = "",
): Promise<[status: number | undefined, connection: string]> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: "127.0.0.1", path, headers: { authorization: `Bearer ${key}` } });
    asked.on("error", reject).on("response", (response) => {
      response.resume().on("end", () => resolve([response.statusCode, response.headers.connection ?? ""]));
    });
    asked.end();
  });
}

test("takes calls while it says that it drains, ends connections with their answers, and then closes", async () => {
  const gateway = await startTestGateway({ stopDelayMs: 2000 });
  const { port, apiKey } = gateway;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    expect(await ask(agent, port, "/v1/models", apiKey)).toEqual([200, "keep-alive"]);
    const beganAt = performance.now();
    const closed = gateway.close();
    // Readiness changes with the next turn of the loop; the connection that was kept is still good, once.
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    expect(await ask(agent, port, "/v1/models", apiKey)).toEqual([200, "close"]);
    expect(await ask(agent, port, "/v1/models", apiKey)).toEqual([200, "close"]);
    expect(performance.now() - beganAt).toBeLessThan(2000);
    await closed;
    expect(performance.now() - beganAt).toBeGreaterThanOrEqual(1999);
    await expect(ask(agent, port, "/readyz")).rejects.toThrow(/ECONNREFUSED/);
  } finally {
    agent.destroy();
  }
});
