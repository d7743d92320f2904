/**
 * Creates one-time links, for the operator, the command line and the first start. The secret follows the `#` of the
 * URL, which browsers do not send to servers.
 */
import { LinkKind } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { newId } from "../../runtime/ids.ts";
import { hashToken, newToken } from "../../runtime/secrets.ts";
import { dayMs } from "../../runtime/time/durations.ts";
import type { LinkStore } from "../../storage/people/links.ts";
import type { Storage } from "../../storage/storage.ts";

export interface LinkInit {
  readonly kind: LinkKind;
  /** accountId is the account that the link invites to. Default: a new account. */
  readonly accountId?: string | null | undefined;
  /** userId is the user whose password the link sets. */
  readonly userId?: string | null | undefined;
  /** email is the only address that may use the invitation. Default: any. */
  readonly email?: string | null | undefined;
  readonly validMs: number;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

export interface IssuedLink {
  /** id is `lnk_…`. Not a secret. */
  readonly id: string;
  readonly token: string;
  /** expiresAt is in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** defaultValidMs is how long an invitation or a password link is valid unless its creator sets it. */
export const defaultValidMs = 3 * dayMs;

const setUpValidMs = dayMs;

/** issueLink creates and stores a link. It returns the secret, which cannot be read again. */
export async function issueLink(links: LinkStore, init: LinkInit): Promise<IssuedLink> {
  const { kind, accountId = null, userId = null, email = null, validMs, now } = init;
  const token = newToken();
  const [id, expiresAt] = [newId("lnk", now), now + validMs];
  const leadsTo = { account_id: accountId, user_id: userId, email };
  await links.insert({ id, kind, token_hash: hashToken(token), ...leadsTo, created_at: now, expires_at: expiresAt });
  return { id, token, expiresAt };
}

/**
 * issueSetUpLink creates the link for the first user and withdraws earlier ones. Returns undefined if somebody already
 * operates the gateway.
 */
export function issueSetUpLink({ transact }: Pick<Storage, "transact">, now: number): Promise<IssuedLink | undefined> {
  return transact(async ({ users, links }) => {
    if ((await users.countOperators()) > 0) return undefined;
    await links.withdraw(LinkKind.SET_UP);
    return issueLink(links, { kind: LinkKind.SET_UP, validMs: setUpValidMs, now });
  });
}

/** pages are the dashboard's pages by kind of link. */
const pages: Readonly<Record<LinkKind, string>> = {
  [LinkKind.UNSPECIFIED]: "",
  [LinkKind.SET_UP]: "set-up",
  [LinkKind.INVITATION]: "register",
  [LinkKind.PASSWORD]: "reset-password",
};

/** linkUrl returns the URL to open. `rootUrl` has no trailing slash. */
export function linkUrl(rootUrl: string, kind: LinkKind, token: string): string {
  return `${rootUrl}/dashboard/${pages[kind]}#${token}`;
}
