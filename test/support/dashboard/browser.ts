/**
 * A real browser, where the machine has one: Debian's Chromium, or the one that CHROMIUM names.
 */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const installed = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const candidates = [process.env.CHROMIUM, ...installed.map((name) => `/usr/bin/${name}`)];

/** The program; undefined where there is none, and tests of pages are skipped. */
export const chromiumPath = candidates.find((path) => path !== undefined && existsSync(path));

/** quiet leaves out what the browser would ask of the network by itself, for there may be none. */
const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

export function launchBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", ...quiet];
  return chromium.launch({ executablePath: chromiumPath as string, args });
}

let shared: Promise<Browser> | undefined;

/** Returns the browser that all test files of this process share, one after another: it starts once, and ends with the process. */
export async function sharedBrowser(): Promise<Browser> {
  if (!(await shared)?.isConnected()) shared = launchBrowser();
  return shared as Promise<Browser>;
}

/** Closes all windows that a test file has open in the shared browser. */
export async function closeWindows(): Promise<void> {
  for (const context of (await shared)?.contexts() ?? []) await context.close();
}

export const desktop = { width: 1280, height: 860 };
export const phone = { width: 390, height: 844 };

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** complaints are what the page complained of: errors in the console and uncaught ones. None is expected. */
  readonly complaints: readonly string[];
}

/** Opens a window of its own, with no cookie. Nothing moves in it: what opens is there at once. */
export async function visit(browser: Browser, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visitor> {
  const context = await browser.newContext({ viewport: desktop, locale: "en-GB", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { context, page, complaints };
}
