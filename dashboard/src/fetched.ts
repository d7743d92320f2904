/**
 * Files of the pages that are fetched when they are first needed. One does not come where the gateway is away, or has been replaced
 * by another version meanwhile, whose files have other names. Opening the page anew, once the gateway answers, mends both.
 */
import { lazyRouteComponent } from "@tanstack/react-router";

/** FileMissing is the failure of a page one of whose files did not come. */
export class FileMissing extends Error {}

/** fetched returns a loader that fails with FileMissing alone: the router would reload the page though nobody answers. */
export function fetched<T>(load: () => Promise<T>): () => Promise<T> {
  return () =>
    load().catch((cause) => {
      throw new FileMissing("a file of the page did not come", { cause });
    });
}

/** fetchedPage is `lazyRouteComponent` for a page that is fetched so. */
export const fetchedPage: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(fetched(load), name);

const reopenedKey = "gateway-reopened";

/** mayReopen returns whether the page may be opened anew unasked: not where that was of no use a moment ago. */
export function mayReopen(): boolean {
  return Date.now() - Number(sessionStorage.getItem(reopenedKey)) > 30_000;
}

/** reopen opens the page anew if the gateway answers: else the browser's own page would take its place. */
export async function reopen(): Promise<void> {
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => undefined);
  if (!answer?.ok) return;
  sessionStorage.setItem(reopenedKey, String(Date.now()));
  location.reload();
}
