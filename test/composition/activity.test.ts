/** A gateway's activity is told from memory: whoever looks every second costs the database nothing, and needs it not to work. */
import { expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startTestGateway } from "../support/gateway.ts";

test("activity counts a call of an embedded model while it runs, and never asks the database", async () => {
  const gateway = await startTestGateway();
  const total = vi.spyOn(gateway.storage.holds, "total").mockImplementation(() => {
    throw new Error("the database was asked");
  });
  const metadata = { simulate_token_delay_ms: "20" };
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "embedded-chat",
      messages: [{ role: "user", content: "Hello" }],
      stream: true,
      metadata,
    }),
  });
  expect(gateway.activity()).toMatchObject({ upstreamRunning: 1, ended: 0 });
  expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
  await eventually(() => expect(gateway.activity()).toMatchObject({ upstreamRunning: 0, ended: 1 }));
  total.mockRestore();
  await gateway.close();
});
