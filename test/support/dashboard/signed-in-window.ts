/**
 * A window on the dashboard of somebody who is signed in. It remembers what no page is to do: complain, or open a dialog
 * of the browser's.
 */
import type { Browser } from "playwright-core";
import type { TestGateway } from "../gateway.ts";
import { type Visitor, visit } from "./browser.ts";
import type { SignedIn } from "./session.ts";

export interface SignedInWindow extends Visitor {
  /** dialogs are what `alert` and the like said. */
  readonly dialogs: readonly string[];
  /** Opens a page of the dashboard, and waits until all that it asks for is there. */
  open(path: string): Promise<void>;
}

export async function signedInWindow(
  browser: Browser,
  { rootUrl }: Pick<TestGateway, "rootUrl">,
  { headers }: Pick<SignedIn, "headers">,
  locale?: string,
): Promise<SignedInWindow> {
  const visitor = await visit(browser, locale === undefined ? {} : { locale });
  const { context, page } = visitor;
  const [name = "", value = ""] = (headers.cookie ?? "").split("=");
  await context.addCookies([{ name, value, url: rootUrl, httpOnly: true, sameSite: "Strict" }]);
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const open = async (path: string) => {
    await page.goto(`${rootUrl}/dashboard${path}`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  };
  return { ...visitor, dialogs, open };
}

/** Refusals are shown in the page; the browser's console tells of their status besides. */
export function unexpected({ complaints }: Pick<Visitor, "complaints">): readonly string[] {
  return complaints.filter((text) => !/the server responded with a status of 4\d\d/.test(text));
}
