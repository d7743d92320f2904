/** The page to open after the sign-in: the one requested before it, if it is the dashboard's own. */

export interface Destination {
  readonly to: string;
  readonly search: Record<string, string>;
}

/** readDestination parses the path. An address of another site, however it is written, leads to the overview. */
export function readDestination(wanted: string | undefined): Destination {
  const home = { to: "/", search: {} };
  if (!wanted?.startsWith("/") || wanted.startsWith("//")) return home;
  const url = URL.parse(wanted, location.origin);
  if (url?.origin !== location.origin || url.pathname === "/sign-in") return home;
  return { to: url.pathname, search: Object.fromEntries(url.searchParams) };
}
