/** Where one goes after the sign-in: to the page that one had wanted, if it is one of ours. */

export interface Destination {
  readonly to: string;
  readonly search: Record<string, string>;
}

/** Reads the path; another site's address, however it is written, leads to the overview. */
export function readDestination(wanted: string | undefined): Destination {
  const home = { to: "/", search: {} };
  if (!wanted?.startsWith("/") || wanted.startsWith("//")) return home;
  const url = URL.parse(wanted, location.origin);
  if (url?.origin !== location.origin || url.pathname === "/sign-in") return home;
  return { to: url.pathname, search: Object.fromEntries(url.searchParams) };
}
