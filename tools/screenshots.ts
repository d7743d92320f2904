/**
 * Writes screenshots of every page of the dashboard to docs/screenshots, for the documentation: of a gateway that is furnished as the
 * demo is (`npm run demo -- --furnished`). Needs Chromium and a built dashboard.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { LinkKind } from "../gen/modelgateway/v1/sessions_pb.ts";
import { furnish } from "../src/commands/demo/furnish.ts";
import { vendorKeys } from "../src/commands/demo/plan.ts";
import { withEmbedded } from "../src/composition/embedded-models.ts";
import { loadConfig } from "../src/config/config.ts";
import { issueLink, linkUrl } from "../src/services/people/links.ts";
import { chromiumPath, launchBrowser, phone, visit } from "../test/support/dashboard/browser.ts";
import { signIn } from "../test/support/dashboard/session.ts";
import { startTestGateway } from "../test/support/gateway.ts";

const folder = join(import.meta.dirname, "../docs/screenshots");

/** pages are the file and the address of each page. */
const pages = (accountId: string, requestId: string, model: string) => ({
  overview: "/",
  keys: "/keys",
  usage: "/usage",
  request: `/usage/${requestId}`,
  recharge: "/recharge",
  models: "/models",
  model: `/models/${encodeURIComponent(model)}`,
  playground: "/playground?model=embedded-chat",
  settings: "/settings",
  "operator-overview": "/operator",
  "operator-accounts": "/operator/accounts",
  "operator-account": `/operator/accounts/${accountId}`,
  "operator-users": "/operator/users",
  "operator-codes": "/operator/codes",
  "operator-upstreams": "/operator/upstreams",
  "operator-add-upstream": "/operator/add-upstream",
  "operator-models": "/operator/models",
  "operator-model": `/operator/models/${encodeURIComponent(model)}`,
  "operator-requests": "/operator/requests",
  "operator-limits": "/operator/limits",
  "operator-history": "/operator/history",
  "operator-audit": "/operator/audit",
});

if (chromiumPath === undefined) throw new Error("there is no Chromium here; CHROMIUM may name one");
mkdirSync(folder, { recursive: true });
const { models, upstreams, tiers, unit } = loadConfig(undefined, { ...vendorKeys });
const config = { models: withEmbedded({ models, embeddedModels: true }), upstreams, tiers, unit };
const gateway = await startTestGateway(config, { clock: Date.now, postpaid: false, recharge: 0 });
const { storage, accountId } = gateway;
await storage.accounts.update(accountId, { name: "Acme" });
const operator = await signIn(gateway, Date.now(), { email: "ada@example.com", operator: true });
await furnish({ config, storage, accountId, now: Date.now() });
const browser = await launchBrowser();
const { context, page } = await visit(browser, { colorScheme: "light" });

/** converse has the playground show an answer. */
async function converse(on: Page): Promise<void> {
  await on.getByRole("textbox", { name: "Message" }).fill("What can a gateway do for us?");
  await on.keyboard.press("Enter");
  await on.getByText(/Cost/).first().waitFor();
}

async function shoot(on: Page, name: string, path: string): Promise<void> {
  await on.goto(path.startsWith("/") ? `${gateway.rootUrl}/dashboard${path}` : path);
  if (name === "playground") await converse(on);
  // Pages that refresh periodically never become idle.
  await on.waitForLoadState("networkidle").catch(() => {});
  await on.getByRole("heading", { level: 1 }).first().waitFor();
  await on.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  await on.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  console.log(`docs/screenshots/${name}.png`);
}

const link = async (kind: LinkKind) => {
  const { token } = await issueLink(gateway.storage.links, { kind, validMs: 3_600_000, now: Date.now() });
  return linkUrl(gateway.rootUrl, kind, token);
};

await shoot(page, "sign-in", "/sign-in");
await shoot(page, "register", await link(LinkKind.INVITATION));
const { cookie = "" } = operator.headers;
await context.addCookies([{ name: "gateway_session", value: cookie.split("=")[1] ?? "", url: gateway.rootUrl }]);
const ask = async (rpc: string, body: object) => {
  const headers = { "content-type": "application/json", ...operator.headers };
  await fetch(`${gateway.rootUrl}/modelgateway.v1.${rpc}`, { method: "POST", headers, body: JSON.stringify(body) });
};
await ask("OperatorService/CreateRedeemCodes", { amount: "5000000", count: 3, note: "Spring fair" });
const local = { name: "local", kind: "openai", base_url: "http://127.0.0.1:11434/v1", discover: true };
for (const [baseVersion, [change, note]] of (
  [
    [{ upstream: local }, "A server of our own, for the night"],
    [{ settings: { retries: { attempts: 4 }, cache: { max_bytes: 268_435_456 } } }, "A cache for the evaluations"],
    [{ settings: { hedging: { after_seconds: 8 } } }, "Slow answers are asked for twice"],
  ] as const
).entries()) {
  await ask("OperatorService/ChangeConfiguration", { baseVersion, changes: [change], note });
}
const recent = await storage.requests.page({ accountId, outcomes: [1] }, undefined, 500);
const shown = recent.find(({ tried, cache_read }) => tried !== null && cache_read > 0) ?? recent[0];
for (const [name, path] of Object.entries(pages(accountId, shown?.id ?? "", shown?.model ?? "")))
  await shoot(page, name, path);
const dark = await visit(browser, { colorScheme: "dark", viewport: phone, storageState: await context.storageState() });
await shoot(dark.page, "overview-phone", "/");
await shoot(dark.page, "keys-phone", "/keys");
await browser.close();
await gateway.close();
