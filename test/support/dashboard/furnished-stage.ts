/**
 * The stage of a test file about pages with something to look at: a furnished gateway, and windows of whoever is signed in to it. What is
 * exported here is what the running test has: one file runs at a time in a process.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { closeWindows, sharedBrowser, type Visitor, visit } from "./browser.ts";
import { type Furnished, startFurnished } from "./furnished.ts";

export let gateway: Furnished;
export let browser: Browser;

/** setFurnishedStage registers what makes the stage for the tests of a `describe`, and clears it after them. */
export function setFurnishedStage(start: () => Promise<Furnished> = startFurnished): void {
  beforeAll(async () => {
    gateway = await start();
    browser = await sharedBrowser();
  });
  afterAll(async () => {
    await closeWindows();
    await gateway?.close();
  });
}

/** signedIn opens a window of whoever has a session by this token: of the operator unless another is named. */
export async function signedIn(
  options: Parameters<Browser["newContext"]>[0] = {},
  value = gateway.token,
): Promise<Visitor> {
  const visitor = await visit(browser, options);
  await visitor.context.addCookies([
    { name: "gateway_session", value, url: gateway.rootUrl, httpOnly: true, sameSite: "Strict" },
  ]);
  return visitor;
}
