/** The pages of the dashboard, and a gateway with something on each. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Furnished } from "./furnished.ts";
import { askRpc } from "./session.ts";

/** windowWidths are those at which nothing may be cut off: two phones, a tablet, and a desk. */
export const windowWidths: readonly number[] = [320, 360, 820, 1280];

/** longNames are such as vendors and operators make them. */
export const longNames = {
  model: "accounts/fireworks/models/llama-v3p1-405b-instruct-long-context-2026-11-30",
  upstream: "the-server-in-the-basement-for-evaluations-by-night",
};

/** signedInPages lists where each page is, and a heading that it has. */
export const signedInPages = (gateway: Furnished, requestId: string) =>
  [
    ["/", "Overview"],
    ["/keys", "API keys"],
    ["/usage", "Usage"],
    ["/usage?view=refused", "Usage"],
    [`/usage/${requestId}`, "Request"],
    ["/recharge", "Recharge"],
    ["/models", "Models"],
    ["/models/embedded-chat", "embedded-chat"],
    ["/models/tts-1", "tts-1"],
    ["/playground", "Playground"],
    ["/settings", "Settings"],
    ["/operator", "Gateway overview"],
    ["/operator/accounts", "Accounts"],
    [`/operator/accounts/${gateway.otherAccountId}`, "Globex"],
    ["/operator/users", "Users"],
    ["/operator/codes", "Redeem codes"],
    ["/operator/upstreams", "Upstreams"],
    ["/operator/upstreams/near", "near"],
    ["/operator/upstreams/off", "off"],
    ["/operator/upstreams/embedded", "embedded"],
    ["/operator/add-upstream", "Add an upstream"],
    ["/operator/models", "Models"],
    ["/operator/models/embedded-chat", "embedded-chat"],
    ["/operator/models/gpt-4.1-mini", "gpt-4.1-mini"],
    [`/operator/models/${encodeURIComponent(longNames.model)}`, longNames.model],
    [`/operator/upstreams/${longNames.upstream}`, longNames.upstream],
    ["/operator/add-model", "Add a model"],
    ["/operator/requests", "All requests"],
    ["/operator/requests?view=refused", "All requests"],
    [`/operator/requests/${requestId}`, "Request"],
    ["/operator/limits", "Limits and settings"],
    ["/operator/history", "History"],
    ["/operator/audit", "Audit log"],
    ["/nowhere", "There is no such page"],
  ] as const;

/** settled waits for transitions to their end: on the way from one theme to the other colours have another contrast. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished))`);
}

/** arrived waits until a page has its heading, and nothing that stands for what is to come. A locator would look every half second. */
async function arrived(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const isThere = document.querySelector("h1")?.checkVisibility() && !document.querySelector(".mantine-Skeleton-root");
      if (isThere) resolve();
      else requestAnimationFrame(look);
    };
    look();
  })`);
}

/** open opens a page, and waits until all that it asks for is there. */
export async function open(page: Page, gateway: Furnished, path: string): Promise<void> {
  await page.goto(`${gateway.rootUrl}/dashboard${path}`);
  await arrived(page);
}

/** configure stores a configuration with something of everything, in two versions. */
export async function configure(gateway: Furnished): Promise<void> {
  const headers = { cookie: `gateway_session=${gateway.token}`, "x-gateway-session": "1" };
  const address = { kind: "openai", base_url: "https://models.example/v1", discover: false };
  const near = { name: "near", ...address, api_key: "sk-of-no-vendor-at-all", headers: { "x-title": "a title" } };
  const targets = [
    { upstream: "near", model: "gpt-4.1-mini-of-a-rather-long-name-2026-11-30", priority: 0, weight: 3 },
    { upstream: "off", model: "m", priority: 1, weight: 1 },
  ];
  const longPrompts = [{ above: 272_000, input: "70.50", output: "310.25" }];
  const price = {
    input: "62.00",
    output: "248.00",
    long: longPrompts,
    priority: { input: "108.50", output: "434.00" },
  };
  const model = { id: "gpt-4.1-mini", family: "gpt-4.1", kind: "chat", aliases: ["mini"], price, targets };
  const far = { name: longNames.upstream, ...address };
  const ofNear = [{ upstream: "near", model: "m", priority: 0, weight: 1 }];
  const ofFar = [{ upstream: far.name, model: "m", priority: 0, weight: 1 }];
  const long = { ...model, id: longNames.model, aliases: [], targets: ofNear };
  const byNight = { ...model, id: "by-night", aliases: [], targets: ofFar };
  const off = { name: "off", ...address, disabled: true };
  const changes = [
    { upstream: near },
    { upstream: far },
    { upstream: off },
    { model },
    { model: long },
    { model: byNight },
  ];
  const settings = { cache: { max_bytes: 67_108_864 }, unpriced_models: { price: { input: "1.00" } } };
  for (const [baseVersion, some] of [changes, [{ settings }]].entries()) {
    const request = { baseVersion, changes: some, note: "a note that says at some length what this is for" };
    const { status, json } = await askRpc(gateway, "OperatorService.ChangeConfiguration", request, headers);
    expect(status, JSON.stringify(json)).toBe(200);
  }
}

/** goTo goes on to another page as its links do, and waits for it as `open` does. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const before = __TSR_ROUTER__.state.location;
    history.pushState(null, "", ${JSON.stringify(`/dashboard${path}`)});
    const look = () => {
      // A page may complete its address.
      const { status, location, resolvedLocation } = __TSR_ROUTER__.state;
      if (status === "idle" && location !== before && resolvedLocation?.href === location.href) resolve();
      else requestAnimationFrame(look);
    };
    look();
  })`);
  await arrived(page);
}
