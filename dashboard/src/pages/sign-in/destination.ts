/** The page to open after the sign-in: the one requested before it, if it is the dashboard's own. */

export interface Destination {
  readonly to: string;
  readonly search: Record<string, unknown>;
  readonly hash: string;
}

/**
 * readDestination parses the address, its query by the router's own parser. An address of another site, however it is written, leads to
 * the overview.
 */
export function readDestination(
  wanted: string | undefined,
  parseSearch: (query: string) => Record<string, unknown>,
): Destination {
  const home = { to: "/", search: {}, hash: "" };
  if (!wanted?.startsWith("/") || wanted.startsWith("//")) return home;
  const url = URL.parse(wanted, location.origin);
  if (url?.origin !== location.origin || url.pathname === "/sign-in") return home;
  return { to: url.pathname, search: parseSearch(url.search), hash: url.hash.slice(1) };
}
