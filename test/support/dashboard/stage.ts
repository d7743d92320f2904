/**
 * The stage of a test file about the dashboard: a gateway, somebody who is signed in to it, and a window for each test, which ends without
 * a complaint. What is exported here is what the running test has: one file runs at a time in a process.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { closeWindows, sharedBrowser } from "./browser.ts";
import { pricedModels } from "./furnished.ts";
import { type SignedIn, type SignInInit, signIn } from "./session.ts";
import { type SignedInWindow, signedInWindow, unexpected } from "./signed-in-window.ts";

export let gateway: TestGateway;
/** ada is signed in: an operator, unless the stage says otherwise. */
export let ada: SignedIn;
export let browser: Browser;
export let window: SignedInWindow;
/** page is that of the window. */
export let page: Page;

export interface StageInit {
  /** start starts the gateway; default: one with the embedded models, by the machine's clock. */
  readonly start?: () => Promise<TestGateway>;
  readonly person?: SignInInit;
  /** mayComplain is whether complaints of a page are expected, as where a test cuts its connection. */
  readonly mayComplain?: boolean;
}

/** setStage registers what makes the stage for the tests of a `describe`, and clears it after them. */
export function setStage({
  start = startPlain,
  person = { operator: true },
  mayComplain = false,
}: StageInit = {}): void {
  beforeAll(async () => {
    gateway = await start();
    ada = await signIn(gateway, Date.now(), { email: "ada@example.com", ...person });
    browser = await sharedBrowser();
  });
  afterAll(async () => {
    await closeWindows();
    await gateway?.close();
  });
  beforeEach(() => enter(ada));
  afterEach(async () => {
    if (!mayComplain) expect(unexpected(window)).toEqual([]);
    await window.context.close();
  });
}

/** enter opens a window of a person in place of the one that is open. */
export async function enter(person: SignedIn): Promise<void> {
  await window?.context.close();
  window = await signedInWindow(browser, gateway, person);
  page = window.page;
}

function startPlain(): Promise<TestGateway> {
  return startTestGateway({ models: [...pricedModels] }, { clock: Date.now });
}
