/**
 * Writes screenshots of every page of the dashboard to docs/screenshots, for the README. Needs Chromium and a built
 * dashboard.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { LinkKind } from "../gen/modelgateway/v1/sessions_pb.ts";
import { issueLink, linkUrl } from "../src/services/people/links.ts";
import { chromiumPath, launchBrowser, phone, visit } from "../test/support/dashboard/browser.ts";
import { type Furnished, startFurnished } from "../test/support/dashboard/furnished.ts";

const folder = join(import.meta.dirname, "../docs/screenshots");

/** pages are the file and the address of each page. */
const pages = (gateway: Furnished, requestId: string) => ({
  overview: "/",
  keys: "/keys",
  usage: "/usage",
  request: `/usage/${requestId}`,
  recharge: "/recharge",
  models: "/models",
  playground: "/playground?model=embedded-chat",
  settings: "/settings",
  "operator-accounts": "/operator/accounts",
  "operator-account": `/operator/accounts/${gateway.accountId}`,
  "operator-users": "/operator/users",
  "operator-codes": "/operator/codes",
  "operator-upstreams": "/operator/upstreams",
  "operator-requests": "/operator/requests",
  "operator-limits": "/operator/limits",
  "operator-audit": "/operator/audit",
});

if (chromiumPath === undefined) throw new Error("there is no Chromium here; CHROMIUM may name one");
mkdirSync(folder, { recursive: true });
const gateway = await startFurnished();
const browser = await launchBrowser();
const { context, page } = await visit(browser, { colorScheme: "light" });

async function shoot(on: Page, name: string, path: string): Promise<void> {
  await on.goto(path.startsWith("/") ? `${gateway.rootUrl}/dashboard${path}` : path);
  // Pages that refresh periodically never become idle.
  await on.waitForLoadState("networkidle").catch(() => {});
  await on.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  console.log(`docs/screenshots/${name}.png`);
}

const link = async (kind: LinkKind) => {
  const { token } = await issueLink(gateway.storage.links, { kind, validMs: 3_600_000, now: Date.now() });
  return linkUrl(gateway.rootUrl, kind, token);
};

await shoot(page, "sign-in", "/sign-in");
await shoot(page, "register", await link(LinkKind.INVITATION));
await context.addCookies([{ name: "gateway_session", value: gateway.token, url: gateway.rootUrl }]);
const ask = async (rpc: string, body: object) => {
  const headers = {
    "content-type": "application/json",
    cookie: `gateway_session=${gateway.token}`,
    "x-gateway-session": "1",
  };
  await fetch(`${gateway.rootUrl}/modelgateway.v1.${rpc}`, { method: "POST", headers, body: JSON.stringify(body) });
};
await ask("OperatorService/CreateRedeemCodes", { amount: "5000000", count: 3, note: "Spring fair" });
await ask("OperatorService/UpdateAccount", { account: "Initech", suspended: true });
const [latest] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
for (const [name, path] of Object.entries(pages(gateway, latest?.id ?? ""))) await shoot(page, name, path);
const dark = await visit(browser, { colorScheme: "dark", viewport: phone, storageState: await context.storageState() });
await shoot(dark.page, "overview-phone", "/");
await shoot(dark.page, "keys-phone", "/keys");
await browser.close();
await gateway.close();
